"""The picture in the docs is the one that follows from its record."""

import json

from tests.dataplane.picture import DRAWING, RECORD, Passage, draw


def test_the_drawing_is_fresh() -> None:
    record = json.loads(RECORD.read_text())
    drawn = draw(Passage(**passage) for passage in record)
    assert DRAWING.read_text() == drawn, "run: python tests/dataplane/picture.py"
