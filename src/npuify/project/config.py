"""The settings of a project: ``[tool.npuify]`` of its pyproject.toml."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from npuify.language import commas, phrase
from npuify.model import NpuifyError
from npuify.options import STYLES, Options


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """What ``[tool.npuify]`` says; None where it says nothing."""

    torch_npu: str | None = None
    """The torch_npu release to aim at."""
    soc: str | None = None
    """The chip to aim at, for example 910A, A2 or 310P."""
    target_vllm: str | None = None
    """The vLLM to aim at."""
    tf_adapter: str | None = None
    """The TensorFlow whose adapter to aim at: 1.15 or 2.6.5."""
    style: str | None = None
    language: Literal["en", "zh"] | None = None
    """The language of all text for people: en or zh."""
    select: tuple[str, ...] | None = None
    """Codes, or beginnings of codes, to look for; nothing else is."""
    ignore: tuple[str, ...] | None = None
    """Codes, or beginnings of codes, to leave alone."""
    exclude: tuple[str, ...] | None = None
    """Files to leave alone, as patterns of .gitignore."""
    unsafe: bool | None = None
    jobs: int | None = None
    """Processes to use; 0 means as many as there are processors."""
    cache: bool | None = None
    """Keep and use results of earlier runs."""
    place_on_npu: bool | None = None
    cpu_fallback: bool | None = None
    replace_unsupported: bool | None = None
    replace_kernels: bool | None = None
    normalize_newlines: bool | None = None
    rules: tuple[str, ...] | None = None
    """Files of the project's own rules. In the file they are relative to its folder; here they are not."""
    third_party: tuple[str, ...] | None = None
    """Folders with the source of packages, as ``rules``."""
    vendor_reports: str | None = None
    """The folder for the vendor tool's result files, as ``rules``."""


_EXPECTED = {
    "torch-npu": 'a string, for example "2.7.1"',
    "soc": 'a string, for example "A2"',
    "target-vllm": 'a string, for example "0.18.0"',
    "tf-adapter": 'a string, for example "1.15"',
    "style": 'a string, for example "npu"',
    "language": '"en" or "zh"',
    "select": 'a list of codes, for example ["NPU1"]',
    "ignore": 'a list of codes, for example ["NPU301"]',
    "exclude": 'a list of patterns, for example ["third_party/"]',
    "unsafe": "true or false",
    "jobs": "a number of processes, 0 or more",
    "cache": "true or false",
    "place-on-npu": "true or false",
    "cpu-fallback": "true or false",
    "replace-unsupported": "true or false",
    "replace-kernels": "true or false",
    "normalize-newlines": "true or false",
    "rules": 'a list of files, for example ["npuify-rules.toml"]',
    "third-party": 'a list of folders, for example ["../mmcv"]',
    "vendor-reports": 'a folder, for example "build/npuify"',
}
_OPTIONS_ONLY = {
    "format": "say --format on the command line",
    "output": "say --output on the command line",
    "about": "say --about on the command line, or list codes in select",
    "force": "say --force on the command line",
    "destination": "say -o on the command line",
}
"""What can be said for one run only."""


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


def options_for(root: Path, *, jobs: int = 1) -> Options:
    """The options that ``[tool.npuify]`` of a project asks for.

    Raises:
        NpuifyError: its settings are wrong.
    """
    config = load_config(root)
    said = {
        name: value
        for name in Options.__struct_fields__
        if (value := getattr(config, name, None)) is not None and name != "jobs"
    }
    return msgspec.structs.replace(Options(jobs=jobs), **said)


def _read(file: Path) -> Config | None:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise NpuifyError(phrase("cannot be read: {value}", value=error.strerror or error), file=str(file)) from error
    if b"npuify" not in raw:
        return None
    from npuify.project.toml import TOMLDecodeError, parse

    try:
        text = raw.decode("utf-8")
        document = parse(text)
    except (UnicodeDecodeError, TOMLDecodeError) as error:
        at = re.search(r"at line (\d+)", str(error))
        raise NpuifyError(
            phrase("is not valid TOML: {error}", error=error), file=str(file), line=int(at[1]) if at else 0
        ) from error
    tool = document.get("tool")
    if not isinstance(tool, dict) or "npuify" not in tool:
        return None
    config = _placed(_checked(tool["npuify"], text, str(file)), file.parent)
    reports = config.vendor_reports
    if reports is not None and not Path(os.path.realpath(reports)).is_relative_to(os.path.realpath(file.parent)):
        # The project may be anybody's: what it says must not have files written elsewhere.
        raise NpuifyError(
            "[tool.npuify] vendor-reports must lie in the project's own folder",
            advice="say --vendor-reports on the command line for another place",
            file=str(file),
            line=_line_of("vendor-reports", text),
        )
    return config


def _placed(config: Config, folder: Path) -> Config:
    """The settings with their paths taken from the folder of the file that they stand in."""
    return msgspec.structs.replace(
        config,
        rules=None if config.rules is None else tuple(str(folder / path) for path in config.rules),
        third_party=None if config.third_party is None else tuple(str(folder / path) for path in config.third_party),
        vendor_reports=None if config.vendor_reports is None else str(folder / config.vendor_reports),
    )


def _checked(table: Any, text: str, file: str) -> Config:
    if not isinstance(table, dict):
        raise NpuifyError("tool.npuify must be a table", file=file, line=_line_of("npuify", text))
    for key, value in table.items():
        if key not in _EXPECTED:
            raise NpuifyError(
                phrase("unknown setting {key!r} in [tool.npuify]", key=key),
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
                phrase("[tool.npuify] {key} must be {EXPECTED}", key=key, EXPECTED=_EXPECTED[key]),
                file=file,
                line=_line_of(key, text),
            ) from None
        if config.style is not None and config.style not in STYLES:
            raise NpuifyError(
                phrase("there is no style {style!r}", style=config.style),
                advice=phrase("one of {STYLES}", STYLES=commas(STYLES)),
                file=file,
                line=_line_of(key, text),
            )
    return msgspec.convert(table, Config)


def _known_settings(key: str) -> str:
    from difflib import get_close_matches

    if key in _OPTIONS_ONLY:
        return phrase("it holds for one run only: {OPTIONS_ONLY}", OPTIONS_ONLY=_OPTIONS_ONLY[key])
    near = get_close_matches(key.lower().replace("_", "-"), _EXPECTED, n=1)
    return phrase("did you mean {near!r}?", near=near[0]) if near else "known settings: " + ", ".join(_EXPECTED)


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
