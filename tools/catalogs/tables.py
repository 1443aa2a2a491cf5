"""Texts for people in the tables of facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tomli

from npuify.language.shell import comments_behind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIELDS = {
    "message", "advice", "title", "why", "fix", "question", "answers", "meaning", "note", "caveat", "topic",
    "threshold", "equivalent", "what", "how", "changes", "stays", "refused", "set", "summary",
    "differs", "limits", "cost",
}  # fmt: skip
"""Keys of rows that hold a text, or a list of them."""
ALSO_IN = {("environment.toml", "values"), ("components.toml", "about"), ("versions.toml", "source")}
"""Keys that hold a text in these tables only."""
NOT_IN = {
    ("forms.toml", "gpu"),
    ("kernels.toml", "equivalent"),
}


def texts_of_table(path: Path) -> Iterator[str]:
    """The texts of a TOML file, in its order."""
    yield from _texts(tomli.loads(path.read_text("utf-8")), "", path.name)


def _texts(value: Any, key: str, file: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _texts(part, key if key in FIELDS and not isinstance(part, (dict, list)) else name, file)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, key, file)
    elif isinstance(value, str) and key == "commands":
        yield from comments_behind(value)
    elif isinstance(value, str) and _is_text(key, file) and " " in value.strip():
        yield value


def _is_text(key: str, file: str) -> bool:
    return (file, key) in ALSO_IN or (key in FIELDS and (file, key) not in NOT_IN)
