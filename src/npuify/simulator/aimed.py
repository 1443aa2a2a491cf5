"""Which release a project was migrated for: a simulation may stand for another, the one of the installed torch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterable

_REPORT: Final = Path("npuify-report", "findings.json")
_LARGEST: Final = 1 << 26
_PINNED: Final = re.compile(r"^\s*torch[-_]npu\s*==\s*([\w.]+)", re.MULTILINE | re.IGNORECASE)
_VERSION: Final = re.compile(r"\d+(?:\.\w+)+")


class _Release(msgspec.Struct):
    torch_npu: str = ""


class _Report(msgspec.Struct):
    """What of the report of a migration says for which release it was made."""

    release: _Release


def aimed_at(folder: Path) -> str:
    """The torch_npu release that a project aims at: what its migration was for, else what its requirements pin.

    Args:
        folder: the project's folder, or one below it.

    Returns:
        The version; empty where neither says one.
    """
    for place in (folder, *folder.parents[:3]):
        text = _text(place / _REPORT)
        if text:
            try:
                said = msgspec.json.decode(text, type=_Report).release.torch_npu
            except msgspec.MsgspecError:
                said = ""
            return said if _VERSION.fullmatch(said) else ""
    pinned = _PINNED.search(_text(folder / "requirements.txt").decode("utf-8", "replace"))
    return pinned[1] if pinned else ""


def another_release(folders: Iterable[Path], simulated: str) -> str:
    """The sentence that says so where a project aims at another release than is simulated; else empty."""
    aimed = next(filter(None, map(aimed_at, dict.fromkeys(folders))), "")
    if not aimed or aimed == simulated:
        return ""
    return phrase(
        "The project aims at torch_npu {aimed}; what is simulated is {simulated}, which belongs to the installed "
        "torch: names and operators may differ between the two.",
        aimed=aimed,
        simulated=simulated,
    )


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= _LARGEST else b""
    except OSError:
        return b""
