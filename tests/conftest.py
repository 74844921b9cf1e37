"""What every test stands on: a scrubbed environment, the golden files, Hypothesis' profiles.

``HYPOTHESIS_PROFILE=deep`` (or ``--hypothesis-profile deep``) tries each law twenty times as often;
that is for whoever changes the editor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

EXAMPLES = 200

# The gate tries the same examples each time, so that it judges the change and not the dice.
settings.register_profile(
    "default",
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=bool(os.environ.get("CI")),
)
settings.register_profile(
    "deep", parent=settings.get_profile("default"), max_examples=20 * EXAMPLES
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# What would let the machine that runs the tests have a say in what they see.
SCRUBBED = ("CI", "CLICOLOR", "COLUMNS", "FORCE_COLOR", "KUBECONFIG", "LINES", "NO_COLOR", "PAGER")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that accepts what is printed now."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew; read the diff before you commit it",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to rewrite where nobody reads the diff."""
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError("--update-golden is for people: CI is set")


@pytest.fixture(scope="session", autouse=True)
def _scrubbed_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in SCRUBBED:
            patch.delenv(name, raising=False)
        yield
