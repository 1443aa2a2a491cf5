"""Which vLLM a project asks for: in its requirements, and in its containers' recipes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.project.files import ProjectFile

_KINDS = frozenset(("requirements", "toml", "ini", "docker"))
_REQUIRED = re.compile(
    rb"(?<![\w./-])vllm(?:\[[\w,-]*\])?[ \t]*(?P<specifier>(?:(?:[=~!]=|[<>]=?)[ \t]*\d[\w.*]*[ \t]*,?[ \t]*)+)"
)
_IMAGE = re.compile(rb"vllm/vllm-openai:v?(?P<version>\d+(?:\.\d+)+(?:\.?(?:post|rc)\d+)?)")
_LARGEST = 300_000
_ROOT = re.compile(r"(?:(?:requirements?|dockerfiles?|docker|install|docs?|scripts)/)?[^/]+")
"""Files that speak for the whole project; a folder below may be a project of its own."""
_ASIDE = re.compile(r"(?:^|/)(?:docs?|tests?|ci|\.github|\.buildkite|benchmarks?)/")


def required_vllm(files: Iterable[ProjectFile]) -> str:
    """The specifier by which a project requires vLLM, ``==0.11.0``; empty where no file of it says a version.

    Args:
        files: of the project. Those nearest its root count first, and of these one that pins; documentation, tests and
            the continuous integration count last. What cannot be read is passed over.
    """
    found: list[tuple[bool, bool, int, str, str]] = []
    for file in files:
        if not _ROOT.fullmatch(file.relative.lower()) or (
            file.kind not in _KINDS and not file.relative.endswith("setup.py")
        ):
            continue
        specifier = _in_file(file)
        if specifier:
            aside = _ASIDE.search(file.relative) is not None
            found.append((aside, "==" not in specifier, file.relative.count("/"), file.relative, specifier))
    return min(found)[-1] if found else ""


def _in_file(file: ProjectFile) -> str:
    try:
        data = file.path.read_bytes() if file.path.stat().st_size < _LARGEST else b""
    except OSError:
        return ""
    if b"vllm" not in data:
        return ""
    match = _REQUIRED.search(data)
    if match is not None:
        return re.sub(r"\s+", "", match["specifier"].decode()).rstrip(",")
    image = _IMAGE.search(data)
    return f"=={image['version'].decode()}" if image is not None else ""
