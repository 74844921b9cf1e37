"""How a controller runs. A module of its own, so that the command line starts fast."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Address = tuple[str, int]
"""Host and port; the empty host stands for every address of the machine."""


class LogFormat(StrEnum):
    """How what happens is written: for people, or a JSON object a line."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run wants besides the Services; what is None is not wanted.

    *lease_duration* is in seconds.
    """

    log_format: LogFormat
    events: bool
    lease_name: str | None
    lease_duration: int
    health_address: Address | None
    metrics_address: Address | None
