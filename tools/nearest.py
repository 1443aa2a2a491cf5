"""Write the words of the collected failures: ``npuify diagnose`` finds the known failure nearest to unknown lines.

    python -m tools.nearest

Reads ``tests/data/diagnose``; what it writes is the set of words of each failure, not its text.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.diagnosis.samples import FOLDER, samples

from npuify.diagnosis.known.nearest import FILE, words_of
from npuify.knowledge.failures.causes import causes
from npuify.knowledge.hand_written import DATA


def signatures() -> list[dict[str, str]]:
    """Cause, thread and words of each collected failure, those of one thread together."""
    known = causes()
    rows = [row for file in sorted(FOLDER.glob("*.toml")) for row in samples(file.stem)]
    return sorted(
        (
            {"cause": row["cause"], "source": row["source"], "words": " ".join(sorted(words_of(row["lines"])))}
            for row in rows
            if row["cause"] in known
        ),
        key=lambda one: (one["source"], one["cause"], one["words"]),
    )


def text() -> str:
    """The table as it is stored, one failure a line."""
    return "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in signatures()) + "\n]\n"


if __name__ == "__main__":
    Path(DATA / FILE).write_text(text(), encoding="utf-8")
