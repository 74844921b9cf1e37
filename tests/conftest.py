"""What every test stands on: a scrubbed environment and the profiles of Hypothesis.

``HYPOTHESIS_PROFILE=deep`` (or ``--hypothesis-profile deep``) tries each law twenty times as often;
that is for whoever changes the editor.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

EXAMPLES = 250

settings.register_profile("default", max_examples=EXAMPLES, deadline=None, database=None)
settings.register_profile(
    "deep", parent=settings.get_profile("default"), max_examples=20 * EXAMPLES
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
