"""Logs whose lines are JSON: docker's own files, and programs that write their messages so."""

from __future__ import annotations

import json
import re
from typing import Final

_DOCKER: Final = re.compile(rb'^\{"log":"(?P<log>(?:[^"\\]|\\.)*)","stream":"\w+"', re.MULTILINE)
"""How docker's driver json-file begins a line; what the container wrote is in ``log``."""
_HOLDS_MORE: Final = (b"Traceback (most recent call last)", b"Error", b"Exception")


def unwrapped(whole: bytes) -> bytes:
    """Lines of docker's files as the container wrote them, one for one; other lines as they are.

    Args:
        whole: whole lines.
    """
    if b'{"log":"' not in whole[:4096]:
        return whole
    return b"\n".join(_written(line) for line in whole.split(b"\n"))


def _written(line: bytes) -> bytes:
    found = _DOCKER.match(line)
    if found is None:
        return line
    try:
        text = json.loads(b'"' + found["log"] + b'"')
    except ValueError:
        return line
    return str(text).rstrip("\r\n").replace("\n", " ").encode("utf-8", "surrogatepass")


def lines_within(line: bytes) -> list[bytes]:
    """The lines of a message that stands in one line of JSON; empty where there is none of several lines.

    Args:
        line: a line.
    """
    if not line.lstrip().startswith(b"{") or b"\\n" not in line or not any(one in line for one in _HOLDS_MORE):
        return []
    try:
        record = json.loads(line)
    except ValueError:
        return []
    texts = [value for value in record.values() if isinstance(value, str)] if isinstance(record, dict) else []
    parts = [part for text in texts if "\n" in text for part in text.split("\n")]
    return [part.encode("utf-8", "surrogatepass") for part in parts if part.strip()]
