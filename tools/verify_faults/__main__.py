"""Prints the table of faults found and of false alarms; see the package."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from npuify.verify.comparison.compare import compare

from .judging import found_rightly, named
from .running import PROGRAMS, capture_all
from .table import FAULTS, SOUND


def main() -> int:
    """Exit code 1 if a fault was missed, or a sound pair raised an alarm."""
    parser = argparse.ArgumentParser(prog="python -m tools.verify_faults")
    parser.add_argument("--show", action="store_true", help="print what was said of each")
    options = parser.parse_args()
    wanted = {}
    for program in ("gpt", "cnn"):
        wanted[f"{program}: "] = [str(PROGRAMS / f"{program}.py")]
        wanted[f"{program}: again"] = [str(PROGRAMS / f"{program}.py")]
    for fault in FAULTS:
        wanted[f"{fault.program}: {fault.name}"] = [str(PROGRAMS / f"{fault.program}.py"), "--fault", fault.name]
    for sound in SOUND:
        for way in filter(None, (sound.way, sound.against)):
            wanted[f"{sound.program}: {way}"] = [str(PROGRAMS / f"{sound.program}.py"), "--way", way]
    missed = alarms = 0
    with tempfile.TemporaryDirectory() as folder:
        captures = capture_all(wanted, Path(folder))
        for fault in FAULTS:
            pair = captures[f"{fault.program}: "], captures[f"{fault.program}: {fault.name}"]
            result = compare(*pair, allow=["same-device"])
            right = found_rightly(result, fault)
            missed += not right
            print(f"{'found ' if right else 'MISSED'}  {fault.program}  {fault.name:24} {named(result)}")
            if options.show:
                for one in result.differences[:6]:
                    print("          ", one.severity, one.kind, one.step, one.name, "|", one.message, "|", one.where)
        for sound in SOUND:
            against = sound.against or ("again" if not sound.way else "")
            pair = (
                captures[f"{sound.program}: {against if sound.against or not sound.way else ''}"],
                captures[f"{sound.program}: {sound.way}"],
            )
            result = compare(*pair, allow=["same-device"])
            alarms += not result.agrees
            words = f"{sound.way or 'the same again'}{f' against {sound.against}' if sound.against else ''}"
            told = f"largest error {result.worst:.2g}" if result.agrees else f"ALARM {named(result)}"
            print(f"{'quiet ' if result.agrees else 'ALARM '}  {sound.program}  {words:44} {told}")
    print(
        f"{len(FAULTS) - missed} of {len(FAULTS)} faults found at the right place; "
        f"{alarms} false alarms in {len(SOUND)} pairs"
    )
    return 1 if missed or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
