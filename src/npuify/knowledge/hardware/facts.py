"""What was seen on hardware, as it is stored: of machines that were reported, and of the user's own."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import platformdirs

from npuify.knowledge.hand_written import DATA
from npuify.language import phrase
from npuify.model import NpuifyError

FORMAT: Final = 1
SHIPPED: Final = DATA / "hardware"


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of one claim on one machine."""

    held: bool
    seen: Any = None
    """Of one that did not hold: the answer."""


class FactsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One machine: the name of its chip and versions, and the id of each claim that was asked there."""

    format: int
    chip: str
    cann: str
    torch_npu: str
    torch: str
    driver: str
    facts: dict[str, Fact]

    @property
    def in_short(self) -> str:
        """``Ascend910B3, CANN 9.1.0, torch_npu 2.14.0``."""
        parts = (self.chip, self.cann and f"CANN {self.cann}", f"torch_npu {self.torch_npu}")
        return ", ".join(part for part in parts if part)


class Sight(NamedTuple):
    """One fact with its machine."""

    machine: str
    fact: Fact
    own: bool
    """Whether it is from the user's own overlay."""


def own_folder() -> Path:
    """Where the user's own overlay lies."""
    chosen = os.environ.get("NPUIFY_KNOWLEDGE_DIR")
    return Path(chosen or platformdirs.user_data_dir("npuify", appauthor=False)) / "hardware"


def file_name(chip: str, cann: str, torch_npu: str, driver: str) -> str:
    """The name of a machine's file."""
    parts = "-".join("".join(c if c.isalnum() or c in "._" else "_" for c in part) for part in (chip, cann, torch_npu))
    return f"{parts}-{hashlib.sha256(driver.encode()).hexdigest()[:6]}.json"


def read_facts(path: Path) -> FactsFile:
    """One stored file.

    Raises:
        NpuifyError: it cannot be read, or is of another format.
    """
    try:
        content = msgspec.json.decode(path.read_bytes(), type=FactsFile)
    except (OSError, msgspec.DecodeError) as error:
        raise NpuifyError(phrase("cannot read what was learned: {error}", error=error), file=str(path)) from error
    if content.format != FORMAT:
        raise NpuifyError(phrase("what was learned has another format; learn it again"), file=str(path))
    return content


def write_facts(path: Path, content: FactsFile) -> None:
    """Write one file, a fact a line; whole or not at all."""
    import json

    head = msgspec.to_builtins(msgspec.structs.replace(content, facts={}))
    head.pop("facts")
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows = [
        f"{json.dumps(name)}: {json.dumps(msgspec.to_builtins(fact))}" for name, fact in sorted(content.facts.items())
    ]
    text = "{" + ",\n".join([*lines, '"facts": {\n' + ",\n".join(rows) + "}"]) + "}\n"
    waiting = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting.write_text(text, encoding="ascii")
        waiting.replace(path)
    except OSError as error:
        waiting.unlink(missing_ok=True)
        raise NpuifyError(
            phrase("cannot be written: {value}", value=error.strerror or str(error)), file=str(path)
        ) from error


@cache
def _all() -> tuple[tuple[FactsFile, bool], ...]:
    found = []
    for folder, own in ((own_folder(), True), (SHIPPED, False)):
        if folder.is_dir():
            found += [(read_facts(path), own) for path in sorted(folder.glob("*.json"))]
    return tuple(found)


def forget() -> None:
    """Read the files anew when they are asked for next."""
    _all.cache_clear()
    sights_of.cache_clear()


@cache
def sights_of(torch_npu: str) -> dict[str, tuple[Sight, ...]]:
    """Claim → where it was asked on this release, the user's own machines first."""
    found: dict[str, tuple[Sight, ...]] = {}
    for file, own in _all():
        if file.torch_npu == torch_npu:
            for name, fact in file.facts.items():
                found[name] = (*found.get(name, ()), Sight(file.in_short, fact, own))
    return found


def releases_seen() -> tuple[str, ...]:
    """The releases of which anything was seen."""
    return tuple(dict.fromkeys(file.torch_npu for file, _ in _all()))


def digest() -> str:
    """Changes with whatever was learned; empty where nothing was."""
    if not _all():
        return ""
    return hashlib.sha256(msgspec.json.encode([file for file, _ in _all()], order="deterministic")).hexdigest()[:16]


Verdict = Literal["held", "refuted", "disputed"]


def verdict_of(sights: tuple[Sight, ...]) -> Verdict | None:
    """What sights come to: the user's own machines decide; where they say nothing, the others, if they agree."""
    own = [one for one in sights if one.own] or list(sights)
    if not own:
        return None
    held = {one.fact.held for one in own}
    return "disputed" if len(held) > 1 else "held" if held == {True} else "refuted"
