"""What kubectl's selectors take, row by row; the answers are those of ``k8s.io/apimachinery``."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.selection import Selection, parse_selector

LABELS = {"app": "web", "number": "5", "negative": "-5", "empty": "", "example.com/tier": "front"}

SELECTORS = [
    ("", True),
    ("app=web", True),
    ("app==web", True),
    (" app = web ", True),
    ("app=WEB", False),
    ("app=", False),
    ("empty=", True),
    ("absent=", False),
    ("app!=web", False),
    ("app!=other", True),
    ("absent!=web", True),
    ("app", True),
    ("empty", True),
    ("absent", False),
    ("!app", False),
    ("! absent", True),
    ("app in (web)", True),
    ("app in(other, web )", True),
    ("app in (other)", False),
    ("absent in (web)", False),
    ("empty in (,web)", True),
    ("app notin (web)", False),
    ("app notin (other,another)", True),
    ("absent notin (web)", True),
    ("number>4", True),
    ("number > 5", False),
    ("number<6", True),
    ("negative<0", True),
    ("app>0", False),
    ("absent<9", False),
    ("example.com/tier=front", True),
    ("in=web", False),
    ("app=web,number=5", True),
    ("app=web , number=6", False),
    ("app in (web,other),!absent,number>1", True),
]


@pytest.mark.parametrize(("selector", "taken"), SELECTORS)
def test_selector(selector: str, taken: bool) -> None:
    requirements = parse_selector(selector)

    assert all(requirement(LABELS) for requirement in requirements) == taken


REFUSED = [
    ("app=web,", '"app=web,"'),
    (",app=web", '",app=web"'),
    ("app=web,,number=5", '",number=5"'),
    ("app=web=other", '"app=web=other"'),
    ("app=web number=5", '"app=web number=5"'),
    ('app="web"', 'app="web"'),
    ("!app=web", '"!app=web"'),
    ("app in (web", '"app in (web"'),
    ("app inside (web)", '"app inside (web)"'),
    ("-app", '"-app"'),
    ("app>", "must compare with a number"),
    ("number>four", "must compare with a number"),
]


@pytest.mark.parametrize(("selector", "message"), REFUSED)
def test_refused_selector(selector: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_selector(selector)

    assert message in str(caught.value)


def service(**metadata: Any) -> Service:  # noqa: ANN401 - as it stands in a manifest
    return Service.from_mapping({"metadata": metadata})


WEB = service(name="web", namespace="shop", labels={"app": "web"})

SELECTIONS = [
    pytest.param(Selection(), WEB, True, id="everything"),
    pytest.param(Selection(namespace="shop"), WEB, True, id="namespace"),
    pytest.param(Selection(namespace="other"), WEB, False, id="another-namespace"),
    pytest.param(Selection(namespace="default"), service(name="web"), False, id="none-written"),
    pytest.param(Selection(names=frozenset({"web", "api"})), WEB, True, id="one-of-the-names"),
    pytest.param(Selection(names=frozenset({"api"})), WEB, False, id="another-name"),
    pytest.param(Selection(requirements=parse_selector("app=web")), WEB, True, id="label"),
    pytest.param(Selection(requirements=parse_selector("!app")), WEB, False, id="another-label"),
    pytest.param(
        Selection("shop", frozenset({"web"}), parse_selector("app=api")), WEB, False, id="all-hold"
    ),
]


@pytest.mark.parametrize(("selection", "candidate", "taken"), SELECTIONS)
def test_selection(selection: Selection, candidate: Service, taken: bool) -> None:
    assert selection.takes(candidate) == taken
