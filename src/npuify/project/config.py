"""The settings of a project: ``[tool.npuify]`` of its pyproject.toml."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from npuify.model import NpuifyError


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """What ``[tool.npuify]`` says; None where it says nothing."""

    torch_npu: str | None = None
    """The torch_npu release to aim at."""
    soc: str | None = None
    """The chip to aim at, for example 910A, A2 or 310P."""
    style: str | None = None
    select: tuple[str, ...] | None = None
    """Codes, or beginnings of codes, to look for; nothing else is."""
    ignore: tuple[str, ...] | None = None
    """Codes, or beginnings of codes, to leave alone."""
    exclude: tuple[str, ...] | None = None
    """Files to leave alone, as patterns of .gitignore."""
    unsafe: bool | None = None
    jobs: int | None = None
    """Processes to use; 0 means as many as there are processors."""


_EXPECTED = {
    "torch-npu": 'a string, for example "2.7.1"',
    "soc": 'a string, for example "A2"',
    "style": 'a string, for example "npu"',
    "select": 'a list of codes, for example ["NPU1"]',
    "ignore": 'a list of codes, for example ["NPU301"]',
    "exclude": 'a list of patterns, for example ["third_party/"]',
    "unsafe": "true or false",
    "jobs": "a number of processes, 0 or more",
}


def load_config(root: Path | str) -> Config:
    """The settings that hold for the project at ``root``.

    They are taken from the nearest pyproject.toml that has a ``[tool.npuify]`` table: that of ``root`` (for a file: of
    its folder) or of an enclosing folder of the same repository. Where there is none, every setting is None.

    Raises:
        NpuifyError: the table holds an unknown key or a value of the wrong type, or the file is not TOML.
    """
    folder = Path(root).absolute()
    if not folder.is_dir():
        folder = folder.parent
    for place in (folder, *folder.parents):
        file = place / "pyproject.toml"
        config = _read(file) if file.is_file() else None
        if config is not None:
            return config
        if (place / ".git").exists():
            break
    return Config()


def _read(file: Path) -> Config | None:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise NpuifyError(f"cannot be read: {error.strerror or error}", file=str(file)) from error
    if b"npuify" not in raw:
        return None
    from npuify.project.toml import TOMLDecodeError, parse

    try:
        text = raw.decode("utf-8")
        document = parse(text)
    except (UnicodeDecodeError, TOMLDecodeError) as error:
        at = re.search(r"at line (\d+)", str(error))
        raise NpuifyError(f"is not valid TOML: {error}", file=str(file), line=int(at[1]) if at else 0) from error
    tool = document.get("tool")
    if not isinstance(tool, dict) or "npuify" not in tool:
        return None
    return _checked(tool["npuify"], text, str(file))


def _checked(table: Any, text: str, file: str) -> Config:
    if not isinstance(table, dict):
        raise NpuifyError("tool.npuify must be a table", file=file, line=_line_of("npuify", text))
    for key, value in table.items():
        if key not in _EXPECTED:
            raise NpuifyError(
                f"unknown setting {key!r} in [tool.npuify]",
                advice=_known_settings(key),
                file=file,
                line=_line_of(key, text),
            )
        try:
            config = msgspec.convert({key: value}, Config)
        except msgspec.ValidationError:
            config = None
        if config is None or (config.jobs is not None and config.jobs < 0):
            raise NpuifyError(
                f"[tool.npuify] {key} must be {_EXPECTED[key]}", file=file, line=_line_of(key, text)
            ) from None
    return msgspec.convert(table, Config)


def _known_settings(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key.replace("_", "-"), _EXPECTED, n=1)
    return f"did you mean {near[0]!r}?" if near else "known settings: " + ", ".join(_EXPECTED)


def _line_of(key: str, text: str) -> int:
    """The line (from 1) that sets ``key`` in the npuify table, the table's own line where none does, else 0."""
    found = 0
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+\s*([^\]]*?)\s*\]", line)
        if header:
            inside = header[1].replace(" ", "").replace('"', "") in {"tool.npuify", "tool"}
            if inside and not found:
                found = number
        if inside and re.match(rf"""\s*(?:npuify\s*\.\s*)?["']?{re.escape(key)}["']?\s*[=.]""", line):
            return number
    return found
