"""What the kernel's packet filter is told, all of it, while something happens.

To look at the rules now and then is not enough to say that one was never there. The kernel reports
each change to those who listen; iptables on top of nftables is no exception.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.waiting import wait_for
from tests.dataplane.netns import NetworkNamespace


class Monitor:
    """The changes since it began."""

    def __init__(self, netns: NetworkNamespace, log: Path) -> None:
        self._netns = netns
        self._log = log

    def additions(self, address: str) -> list[str]:
        """Return all rules so far that were added for an address."""
        self._catch_up()
        lines = self._log.read_text().splitlines()
        return [line for line in lines if line.startswith("add ") and f" {address} " in line]

    def _catch_up(self) -> None:
        """Return once it knows of all that has happened by now."""
        # Reports come in the order of the changes, so the last of them is one of ours.
        table = f"last-{secrets.token_hex(4)}"
        self._netns.run("nft", "add", "table", "inet", table)
        wait_for(lambda: table in self._log.read_text(), "the kernel's report")
        self._netns.run("nft", "delete", "table", "inet", table)


@contextmanager
def monitored(netns: NetworkNamespace, log: Path) -> Iterator[Monitor]:
    """Listen, for the time of the block."""
    process = netns.start(["nft", "monitor"], log)
    try:
        wait_for(lambda: _hears(netns, log), "nft monitor")
        yield Monitor(netns, log)
    finally:
        process.kill()


def _hears(netns: NetworkNamespace, log: Path) -> bool:
    netns.run("nft", "add", "table", "inet", "first")
    netns.run("nft", "delete", "table", "inet", "first")
    return "first" in log.read_text()
