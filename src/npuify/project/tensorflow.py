"""Which TensorFlow a project asks for, as its requirement files and images say. They are read as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATTERNS: Final = (
    *("requirements.txt", "*requirements*.txt", "requirements/*.txt", "constraints.txt", "pyproject.toml", "setup.py"),
    *("setup.cfg", "environment*.yml", "environment*.yaml", "conda*.yml", "conda*.yaml", "Pipfile", "*Dockerfile*"),
)
_LARGEST: Final = 1_000_000
_ASKED: Final = re.compile(
    r"(?<![\w./-])tensorflow(?:[-_](?:gpu|cpu))?[\"']?\s*(?:\[[^\]\n]*\])?\s*(?:[=:]\s*[\"']\s*)?"
    r"(?P<version>[=<>~!]=?\s*\d[\w.*]*(?:\s*,\s*[=<>~!]=?\s*\d[\w.*]*)*)",
    re.IGNORECASE,
)
_IMAGE: Final = re.compile(r"\btensorflow/tensorflow:(?P<version>\d+\.\d+(?:\.\d+)?)")


def tensorflow_specifier(root: Path | str) -> str:
    """What the project at ``root`` asks of TensorFlow, as PEP 440 writes it; empty where it does not say.

    The first place that bounds the version from above counts, else the first that names one. A file that cannot be read
    is passed over.
    """
    folder = Path(root)
    if not folder.is_dir():
        folder = folder.parent
    first = ""
    for specifier in _asked(folder):
        if re.search(r"==|~=|<", specifier):
            return specifier
        first = first or specifier
    return first


def _asked(folder: Path) -> Iterator[str]:
    seen = set[Path]()
    for pattern in _PATTERNS:
        for file in sorted(folder.glob(pattern)):
            if file in seen:
                continue
            seen.add(file)
            yield from _specifiers(_text(file))


def _text(file: Path) -> str:
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return ""
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _specifiers(text: str) -> Iterator[str]:
    for line in text.splitlines():
        code = line.split("#", 1)[0][:2000]
        for match in _ASKED.finditer(code):
            written = re.sub(r"\s|(?<=\d)(?:rc|a|b)\d+", "", match["version"])
            single = re.fullmatch(r"=(\d[\w.]*)", written)
            if single:  # conda: one sign means any patch
                written = f"=={single[1]}" if single[1].count(".") > 1 else f"=={single[1]}.*"
            try:
                SpecifierSet(written)
            except InvalidSpecifier:
                continue
            yield written
        for match in _IMAGE.finditer(code):
            yield f"=={match['version']}" if match["version"].count(".") > 1 else f"=={match['version']}.*"
