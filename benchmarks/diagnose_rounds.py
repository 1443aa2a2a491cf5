"""How many first answers of ``npuify diagnose`` are right, by round and by cause, on the collected failures.

    python benchmarks/diagnose_rounds.py [--causes] [--classes]

For a round, the column "new" is what it got before the tables were mended for it: the rate to expect of logs that
nobody has seen. The column "today" says what the tables hold now, and nothing more.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.diagnosis.samples import FOLDER, diagnosed, is_right, missed_at_first, right_at_first, samples


def main() -> None:
    """One line for each file, and for each cause where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--causes", action="store_true", help="also by cause")
    parser.add_argument("--classes", action="store_true", help="also by class, as the rounds from 18 on were when new")
    options = parser.parse_args()
    right, of = Counter[str](), Counter[str]()
    new = new_of = 0
    print(f"{'file':<14}{'of':>5}{'new':>11}{'today':>11}")
    for file in sorted(FOLDER.glob("*.toml"), key=lambda one: (one.stem.rstrip("0123456789"), len(one.stem), one.stem)):
        rows = samples(file.stem)
        good = 0
        for row in rows:
            was_right = is_right(row, diagnosed(row["lines"].strip("\n") + "\n"))
            good += was_right
            of[row["cause"]] += 1
            right[row["cause"]] += was_right
        first = ""
        if file.stem.startswith("round_"):
            count = right_at_first(file.stem)
            new, new_of = new + count, new_of + len(rows)
            first = f"{count:>4}{count / len(rows):>6.0%}"
        print(f"{file.stem:<14}{len(rows):>5}{first:>11}{good:>5}{good / len(rows):>6.0%}")
    total = of.total()
    print(f"{'all rounds':<14}{new_of:>5} {new:>4}{new / new_of:>6.0%}")
    print(f"{'all':<14}{total:>5}{right.total():>16}{right.total() / total:>6.0%}")
    for cause in sorted(of) if options.causes else ():
        print(f"  {cause:<24}{right[cause]:>4} of {of[cause]:>3}")
    if options.classes:
        _print_classes()


def _print_classes() -> None:
    """What each class got when its rounds were new."""
    right, of = Counter[str](), Counter[str]()
    for file in FOLDER.glob("round_*.toml"):
        missed = missed_at_first(file.stem)
        for row in samples(file.stem) if missed is not None else ():
            of[row["class"]] += 1
            right[row["class"]] += row["id"] not in (missed or ())
    for name in sorted(of):
        print(f"  {name:<14}{right[name]:>4} of {of[name]:>3}{right[name] / of[name]:>6.0%}")


if __name__ == "__main__":
    main()
