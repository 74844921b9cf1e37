"""The queue: the newest state wins, one at a time for each key, rests that grow."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from kubectl_lbipmode.controller.workqueue import Rest, Task, WorkQueue

SHORT = Rest(first=0.1, longest=0.4)
Queue = WorkQueue[str, int]


def take(queue: Queue) -> Task[str, int]:
    task = queue.take()
    assert task is not None
    return task


def later(queue: Queue, seconds: float) -> None:
    threading.Timer(seconds, queue.close).start()


def test_keys_come_in_order_with_their_newest_state() -> None:
    queue = Queue()
    for state in range(3):
        for key in ("a", "b"):
            queue.put(key, state)
    taken = [take(queue), take(queue)]
    assert [(task.key, task.state, task.row) for task in taken] == [("a", 2, 0), ("b", 2, 0)]
    for task in taken:
        queue.finish(task)
    assert len(queue) == 0


def test_a_key_is_given_out_once_at_a_time() -> None:
    queue = Queue()
    queue.put("a", 1)
    first = take(queue)
    queue.put("a", 2)
    queue.put("a", 3)
    queue.put("b", 1)
    assert take(queue).key == "b"
    later(queue, 0.2)
    assert queue.take() is None

    queue = Queue()
    queue.put("a", 1)
    first = take(queue)
    queue.put("a", 2)
    queue.put("a", 3)
    queue.finish(first)
    assert take(queue).state == 3


def test_what_failed_comes_back_later_and_later() -> None:
    queue = Queue()
    queue.put("a", 1)
    begun, times, rows = time.monotonic(), [], []
    for _ in range(4):
        task = take(queue)
        times.append(time.monotonic() - begun)
        rows.append(task.row)
        queue.finish(task, SHORT, again=True)
    assert rows == [0, 1, 2, 3]
    waits = [after - before for before, after in pairwise(times)]
    for wait, longest in zip(waits, (0.1, 0.2, 0.4), strict=True):
        assert longest * 0.8 <= wait < longest + 0.1


def test_news_does_not_cut_a_rest_short_and_is_what_comes_back() -> None:
    queue = Queue()
    queue.put("a", 1)
    task = take(queue)
    since = task.since
    queue.finish(task, SHORT, again=True)
    begun = time.monotonic()
    queue.put("a", 2)
    task = take(queue)
    assert time.monotonic() - begun >= 0.08
    # It has waited since the first state, which was never worked off.
    assert (task.state, task.since) == (2, since)


def test_a_quiet_rest_ends_the_row() -> None:
    queue = Queue()
    queue.put("a", 1)
    queue.finish(take(queue), SHORT)
    queue.put("a", 2)
    task = take(queue)
    assert task.row == 1
    queue.finish(task, SHORT)
    threading.Event().wait(0.25)
    queue.put("b", 1)
    take(queue)
    queue.put("a", 3)
    assert take(queue).row == 0


@pytest.mark.parametrize(("row", "longest"), [(0, 1), (2, 1), (3, 2), (5, 8), (6, 10), (10**6, 10)])
def test_rests_grow_when_they_should(row: int, longest: float) -> None:
    rest = Rest(first=1, longest=10, even=3)
    assert 0.8 * longest <= rest.seconds(row) <= longest


def test_what_is_forgotten_does_not_come_back() -> None:
    queue = Queue()
    for key in ("a", "b", "c"):
        queue.put(key, 1)
    queue.forget("a")
    queue.forget("unknown")
    task = take(queue)
    queue.put("b", 2)
    queue.forget("b")
    queue.finish(task)
    assert (task.key, take(queue).key, len(queue)) == ("b", "c", 1)


def test_a_hold_holds_every_key() -> None:
    queue = Queue()
    queue.put("a", 1)
    rest = Rest(first=0.2, longest=1)
    queue.hold(rest)
    queue.hold(rest)  # under way before; it changes nothing
    begun = time.monotonic()
    queue.finish(take(queue))
    assert 0.16 <= time.monotonic() - begun < 0.3

    queue.hold(rest)
    queue.put("a", 1)
    begun = time.monotonic()
    queue.finish(take(queue))
    assert 0.32 <= time.monotonic() - begun < 0.6

    queue.end_holds()
    queue.hold(rest)
    queue.put("a", 1)
    begun = time.monotonic()
    take(queue)
    assert time.monotonic() - begun < 0.3


def test_many_workers_never_share_a_key_and_lose_no_state() -> None:
    queue = Queue()
    keys = [f"key-{number}" for number in range(10)]
    running: set[str] = set()
    seen: dict[str, int] = {}
    guard = threading.Lock()

    def work() -> None:
        while (task := queue.take()) is not None:
            with guard:
                assert task.key not in running
                running.add(task.key)
            threading.Event().wait(0.0005)
            with guard:
                running.remove(task.key)
                assert seen.get(task.key, -1) <= task.state
                seen[task.key] = task.state
            rest = Rest(0.001, 0.002) if task.state % 3 == 0 else None
            queue.finish(task, rest, again=task.state % 7 == 0 and task.row == 0)

    with ThreadPoolExecutor(8) as pool:
        workers = [pool.submit(work) for _ in range(8)]
        for state in range(300):
            for key in keys:
                queue.put(key, state)
        while len(queue):
            threading.Event().wait(0.01)
        queue.close()
        for worker in workers:
            worker.result(5)
    assert seen == dict.fromkeys(keys, 299)
