"""How many first answers of ``npuify diagnose`` are right, by round and by cause, on the collected failures.

    python benchmarks/diagnose_rounds.py [--causes]

What each round got when it was new stands in tests/data/diagnose/README.md; this is today's rate, after the tables
were mended for it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.diagnosis.samples import FOLDER, diagnosed, samples


def main() -> None:
    """One line for each file, and for each cause where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--causes", action="store_true", help="also by cause")
    by_cause = parser.parse_args().causes
    right, of = Counter[str](), Counter[str]()
    for file in sorted(FOLDER.glob("*.toml")):
        good = 0
        rows = samples(file.stem)
        for row in rows:
            found = diagnosed(row["lines"].strip("\n") + "\n")
            is_right = found.cause == row["cause"] or (row["cause"] == "none" and found.confidence.value == "nothing")
            good += is_right
            of[row["cause"]] += 1
            right[row["cause"]] += is_right
        print(f"{file.stem:<14}{good:>4} of {len(rows):>3}{good / len(rows):>7.0%}")
    print(f"{'all':<14}{right.total():>4} of {of.total():>3}{right.total() / of.total():>7.0%}")
    for cause in sorted(of) if by_cause else ():
        print(f"  {cause:<24}{right[cause]:>4} of {of[cause]:>3}")


if __name__ == "__main__":
    main()
