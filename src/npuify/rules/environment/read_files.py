"""Files that a program reads its device from, and that npuify does not edit: of no kind that holds settings."""

from __future__ import annotations

import ast
import posixpath
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.project.kinds import kind_of
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_NEAR: Final = 160
_NAME_IN_TEXT: Final = re.compile(
    rb"[\"'][\w./-]*\w\.(?!(?:jsonl?|ya?ml|toml|ini|cfg|py|[ct]sv|np[yz]|pkl|pickle|pth?|jpe?g|png|md|rst|log|h5|gz|zip|xml|html?|txt)[\"'])"
    rb"\w{1,12}[\"']"
)
_OF_DEVICE: Final = re.compile(rb"[\"'][\w./-]*(?:device|backend|gpu|cuda)[\w./-]*\.txt[\"']|device[^\n]*\.txt[\"']")
_NAME: Final = re.compile(r"[\w./-]*\w\.\w{1,12}")
_KINDS: Final = frozenset(("other", "text"))
"""Kinds of files that nothing else looks into for settings."""
_LARGEST: Final = 65_536
_DEVICE: Final = re.compile(
    rb"^[ \t]*(?:[\w.\"'-]{1,60}[ \t]*[=:,|\t ][ \t]*)?(?P<quote>[\"']?)(?P<device>cuda(?::\d+)?|nccl)(?P=quote)"
    rb"[ \t]*[,;]?[ \t]*\r?$",
    re.MULTILINE,
)
"""A line that is a device, or gives one for a key."""
_OPTION: Final = re.compile(
    rb"(?<![\w-])--?\w[\w-]{0,40}(?:[ \t]*\r?\n|[ \t]+|=)"
    rb"(?P<quote>[\"']?)(?P<device>cuda(?::\d+)?|nccl)(?P=quote)(?=\s|$)"
)
"""An option of a program with a device: in a file of arguments, in one line or in two."""


def _names_no_file(lower: bytes, start: int, end: int) -> bool:
    """Whether the text around a word names no file."""
    near = max(start - _NEAR, 0), end + _NEAR
    return _NAME_IN_TEXT.search(lower, *near) is None and _OF_DEVICE.search(lower, *near) is None


@rule(
    "NPU735",
    "device-in-unread-file",
    Safety.MANUAL,
    Severity.WARNING,
    words=("open(", ".read_text(", ".readlines("),
    skip_if=_names_no_file,
    source="the file that the program reads",
)
def device_in_unread_file(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A program reads a file whose name it says, which names a CUDA device, and which npuify does not edit.

    Files of settings (YAML, JSON, TOML, INI, ``.properties``, ``.env``) are edited; this one is of no kind that npuify
    knows as such.
    """
    function = node.func
    word = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if word not in ("open", "read_text", "readlines") or file.plan.style == "auto":
        return
    for one in ast.walk(node):
        if not isinstance(one, ast.Constant) or not isinstance(one.value, str) or not _NAME.fullmatch(one.value):
            continue
        found = _device_in(one.value, file)
        if found is not None:
            name, line, device = found
            yield file.report(
                one,
                phrase(
                    "{name} says {device} in line {line}, and npuify edits no such files",
                    name=name,
                    device=device,
                    line=line,
                ),
                subject=device,
                advice=phrase("write {npu} there, if it is a device that this program uses", npu=_on_npu(device)),
            )


def _on_npu(device: str) -> str:
    return "hccl" if device == "nccl" else device.replace("cuda", "npu")


def _device_in(name: str, file: PythonFile) -> tuple[str, int, str] | None:
    """The file of that name beside this one, or below the root, with the line that names a device."""
    if kind_of(posixpath.basename(name)) not in _KINDS:
        return None
    for base in (posixpath.dirname(file.source.relative), ""):
        relative = posixpath.normpath(posixpath.join(base, name))
        if relative.startswith(("..", "/")):
            continue
        file.project.dependencies.add(relative)
        path = file.project.root / relative
        try:
            data = path.read_bytes() if path.stat().st_size <= _LARGEST else b""
        except OSError:
            continue
        match = _DEVICE.search(data) or _OPTION.search(data)
        if match is not None:
            return relative, data.count(b"\n", 0, match.start("device")) + 1, match["device"].decode()
    return None
