"""TOML on every Python that npuify runs on."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:
    from tomli import TOMLDecodeError, loads  # type: ignore[import-not-found,unused-ignore]

__all__ = ["TOMLDecodeError", "parse"]


def parse(text: str) -> dict[str, Any]:
    """The document ``text``.

    Raises:
        TOMLDecodeError: it is not TOML. The message ends in "(at line L, column C)".
    """
    document: dict[str, Any] = loads(text)
    return document
