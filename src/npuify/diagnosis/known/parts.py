"""Parts that a message says an installed package lacks: two releases that do not fit together."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence

from .packages import is_known
from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.diagnosis.model import Frame

LACKS_PART: Final = re.compile(
    r"No module named '(?P<package>\w+)\.(?P<part>[\w.]+)'"
    r"|cannot import name '(?P<name>\w+)' from '(?P<source>\w+)(?P<below>[\w.]*)'(?: \((?P<place>[^)]*)\))?"
    r"|module '(?P<owner>\w+)(?P<inside>[\w.]*)' has no attribute '(?P<attribute>\w+)'"
)
"""What Python says of a part of a package that is there."""

_INSTALLED: Final = re.compile(r"(?i)[/\\](?:site|dist)-packages[/\\]+(\w+)")
_STACKS: Final = {"mindspeed", "mindspeed_llm", "mindspeed_mm", "vllm_ascend", "swift", "msprobe", "sglang", "torchair"}
"""Packages for NPUs, or that have words for them, without a row in the tables of packages."""
_LAZY: Final = {"transformers", "diffusers", "optimum"}
"""Packages whose modules are made when they are asked for: Python cannot say where their files are."""
_NOT_THESE: Final = {"torch", "torch_npu", "apex", "triton", "numpy"}
"""Packages with answers of their own."""
_OF_PROGRAMS: Final = {
    *("app", "args", "base", "common", "conf", "config", "configs", "constants", "core", "data", "dataloader"),
    *("dataset", "engine", "eval", "evaluate", "experiments", "helper", "helpers", "inference", "layers", "lib"),
    *("loader", "logger", "losses", "loss", "main", "misc", "model", "modeling", "models", "module", "modules"),
    *("net", "nets", "network", "networks", "ops", "opt", "options", "pipeline", "plugin", "predict", "runner"),
    *("script", "scripts", "server", "settings", "src", "task", "tasks", "test", "tests", "tools", "train"),
    *("trainer", "training", "transforms", "types", "util", "utils", "version"),
}
"""What folders and modules of programs are called, rather than packages."""


def part_match(text: str, frames: Sequence[Frame]) -> Match | None:
    """What it says that a package lacks a part; None where it is not known to be an installed package.

    Args:
        text: a line, usually the exception that ended a traceback.
        frames: the traceback's frames; may be empty.
    """
    found = LACKS_PART.search(text)
    if found is None:
        return None
    package = found["package"] or found["source"] or found["owner"]
    if package in _NOT_THESE:
        return None
    if _is_installed(package, found["place"], frames):
        weight = 72
    elif found["name"] and _is_of_others(package, found["source"] + found["below"], found["place"], frames):
        weight = 56
    else:
        return None
    part = (
        f"{package}.{found['part']}"
        if found["part"]
        else f"{found['source']}{found['below']}.{found['name']}"
        if found["name"]
        else f"{found['owner']}{found['inside']}.{found['attribute']}"
    )
    asks = _INSTALLED.search(frames[-1].file) if frames else None
    why = (
        phrase(
            "{asks} asks {package} for {part}, which the installed release does not have.",
            asks=asks[1],
            package=package,
            part=part,
        )
        if asks is not None and asks[1] != package
        else phrase("The installed release of {package} does not have {part}.", package=package, part=part)
    )
    return Match(
        name="part-of-a-package",
        meaning=why,
        cause="version-mismatch",
        role="cause",
        weight=weight,
        evidence=Evidence.DOCUMENTED,
        source="docs.python.org/3/library/exceptions.html#ImportError",
        why=why,
        fix=phrase("Install the releases that belong together: those that the project which imports it pins."),
    )


def _is_installed(package: str, place: str | None, frames: Sequence[Frame]) -> bool:
    """Whether it is a package of others, rather than a folder of the program."""
    if place == "unknown location" and package not in _LAZY:
        return False  # a folder of that name, in the program's own
    if place and _INSTALLED.search(place):
        return True
    if package in _STACKS or is_known(package):
        return True
    asks = _INSTALLED.search(frames[-1].file) if frames else None
    return asks is not None


def _is_of_others(package: str, module: str, place: str | None, frames: Sequence[Frame]) -> bool:
    """Whether a module that is not known to be installed lies outside of the project that imports from it.

    Args:
        package: the first part of its name.
        module: its whole name.
        place: its file, where the message names it.
        frames: the traceback's frames; may be empty.
    """
    if place == "unknown location" or package in _OF_PROGRAMS or package in sys.stdlib_module_names:
        return False
    if place is None or not frames:
        return True
    parts = module.count(".") + 1 + place.endswith("__init__.py")
    root = "/".join(re.split(r"[/\\]", place)[:-parts])
    return not frames[-1].file.replace("\\", "/").startswith(f"{root}/")
