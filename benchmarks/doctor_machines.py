"""What ``npuify doctor`` says of each machine of tests/data/machines, beside what is wrong with it.

    python benchmarks/doctor_machines.py

A machine counts as right where the checks with errors and warnings are just those that its file names: one fault, told
once, and nothing else. The last columns say how many checks passed, and how many lacked what they judge by.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.doctor.machines import BROKEN, HEALTHY, expected, load

from npuify.doctor.examine import judge
from npuify.doctor.facts import gather
from npuify.report.doctor import Status


def main() -> None:
    """One line for each machine."""
    right = 0
    print(f"{'machine':<42}{'right':>6}{'ok':>5}{'skipped':>9}  told")
    for name in (*HEALTHY, *BROKEN):
        results, checks = judge(gather(load(name).machine()))
        errors, warnings = expected(name)
        told = [{one.check for one in results if one.status is status} for status in (Status.ERROR, Status.WARNING)]
        is_right = told == [errors, warnings]
        right += is_right
        counts = Counter(check.status for check in checks)
        said = ", ".join(sorted(told[0] | told[1])) or "ready"
        print(f"{name:<42}{'yes' if is_right else 'NO':>6}{counts[Status.OK]:>5}{counts[Status.SKIPPED]:>9}  {said}")
    print(f"{right} of {len(HEALTHY) + len(BROKEN)} machines right")


if __name__ == "__main__":
    main()
