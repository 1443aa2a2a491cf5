"""The samples of ``tests/data/diagnose``, and a short way to diagnose a text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuify.diagnosis.collect import Collector
from npuify.diagnosis.judge import judge

if TYPE_CHECKING:
    from npuify.diagnosis.model import Diagnosis

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent.parent / "data" / "diagnose"


def samples(name: str) -> list[dict[str, Any]]:
    """The samples of a file, without the extension."""
    return list(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["sample"])


def right_at_first(name: str) -> int:
    """How many of a round's samples were right when they were new; the tables were mended after that."""
    return int(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["right_at_first"])


def missed_at_first(name: str) -> list[str] | None:
    """The ids of a round's samples that were wrong when they were new; None for rounds that did not note them."""
    missed = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")).get("missed_at_first")
    return None if missed is None else [str(one) for one in missed]


def is_right(row: dict[str, Any], found: Diagnosis) -> bool:
    """Whether the first answer is that of the label; ``none`` says that nothing failed."""
    return found.cause == row["cause"] or (row["cause"] == "none" and found.confidence.value == "nothing")


def diagnosed(*texts: str, piece: int = 1 << 20) -> Diagnosis:
    """The diagnosis of logs, read in pieces of ``piece`` bytes; each text is a file of its own."""
    collector = Collector()
    for number, text in enumerate(texts):
        collector.start_file(f"log{number}")
        data = text.encode("utf-8", "surrogatepass")
        for start in range(0, len(data), piece):
            collector.feed(data[start : start + piece])
    collector.end_file()
    return judge(collector)
