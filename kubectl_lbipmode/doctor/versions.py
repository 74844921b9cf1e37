"""Versions as they are written in the wild: of servers, and in the names of images.

Distributions add to a version (``v1.31.4+rke2r1``, ``v1.30.5-eks-ce1d5eb``), registries mirror
images under other names, and a digest may stand where a tag was, or behind it. What cannot be read
is no error: nothing is known then.
"""

from __future__ import annotations

import re

Version = tuple[int, int, int]

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])")


def parse_version(text: str) -> Version | None:
    """Return major, minor and patch, without what a distribution added; None if there are none."""
    match = _VERSION.match(text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def show_version(version: Version) -> str:
    """Write a version without what a distribution added."""
    return ".".join(map(str, version))


def split_image(image: str) -> tuple[str, str]:
    """Return the last part of an image's name, and its tag, which may be empty."""
    # The port of a registry comes before the last slash, a digest after everything.
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return name, tag


def image_version(image: str) -> Version | None:
    """Return the version that an image's tag tells, if it does."""
    return parse_version(split_image(image)[1])
