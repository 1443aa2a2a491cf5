"""How ``npuify diagnose`` answers each round of failures without what that round taught the tables.

    python benchmarks/diagnose_left_out.py [--round N] [--misses]

``tests/data/diagnose/left_out/taught.toml`` says which rows and stems came of a round; they are taken out, and the
round is run again. What code learnt of a round stays, so the rate is higher than that of a fresh round: it is for
comparing one way of answering with another, on the same rounds. A fresh process runs each round, since tables are
read once in a process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def main() -> None:
    """One line for each round, and all of them together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--round", type=int, help="this round only")
    parser.add_argument("--misses", action="store_true", help="name what each round misses")
    parser.add_argument(
        "--json", action="store_true", help="the answers of one round, as the other processes are asked"
    )
    options = parser.parse_args()
    if options.json:
        print(json.dumps(_answers(options.round)))
        return
    right, of, surely = 0, 0, Counter[tuple[str, bool]]()
    for taught in _taught():
        number = taught["round"]
        if options.round not in (None, number):
            continue
        told = subprocess.run(
            [sys.executable, __file__, "--round", str(number), "--json"], capture_output=True, text=True, check=True
        )
        answers = json.loads(told.stdout)
        good = sum(one["right"] for one in answers)
        right, of = right + good, of + len(answers)
        surely.update((one["confidence"], one["right"]) for one in answers)
        print(f"{number:>5}{good:>5} of {len(answers):>3}{good / len(answers):>6.0%}")
        for one in answers if options.misses else ():
            if not one["right"]:
                print(f"        {one['id']}: {one['cause']}, answered {one['answer'] or '-'} ({one['name']})")
    print(f"{'all':>5}{right:>5} of {of:>3}{right / of:>6.0%}")
    for name in sorted({name for name, _ in surely}):
        good, wrong = surely[name, True], surely[name, False]
        print(f"  {name:<10}{good:>4} of {good + wrong:>3}")


def _taught() -> list[dict[str, Any]]:
    file = ROOT / "tests" / "data" / "diagnose" / "left_out" / "taught.toml"
    return list(tomllib.loads(file.read_text(encoding="utf-8"))["taught"])


def _answers(number: int) -> list[dict[str, Any]]:
    """What is answered to a round's samples without what the round taught."""
    from npuify.knowledge.failures import causes as failures

    taught = next(one for one in _taught() if one["round"] == number)
    rows = set(taught["rows"])
    left = tuple(row for row in failures.text_facts() if row.name not in rows)
    failures.text_facts = lambda: left  # type: ignore[assignment]

    from npuify.diagnosis import stems

    gone = {one.encode() for one in taught["stems"]}
    stems.STEMS = tuple(one for one in stems.STEMS if one not in gone)  # type: ignore[misc, assignment]

    from tests.diagnosis.samples import diagnosed, is_right, samples

    answers = []
    for row in samples(f"round_{number}"):
        found = diagnosed(row["lines"].strip("\n") + "\n")
        answers.append(
            {
                "id": row["id"],
                "cause": row["cause"],
                "answer": found.cause,
                "name": found.first.name if found.first is not None else "",
                "weight": found.first.weight if found.first is not None else 0,
                "confidence": found.confidence.value,
                "right": is_right(row, found),
            }
        )
    return answers


if __name__ == "__main__":
    main()
