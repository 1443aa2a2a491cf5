"""``python -m tools.real_torch_npu record|run --torch-npu VERSION``, from the root of the checkout."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from .machine import Machine, prepare
from .packages import PackageError
from .record import record, write
from .stand_ins import StandInError


def main() -> int:
    """Run the command that the arguments name, and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.real_torch_npu", description=__doc__)
    parser.add_argument("--torch-npu", required=True, metavar="VERSION", help="the exact release")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "npuify-real-torch-npu"
    parser.add_argument("--work", type=Path, default=cache, help="where packages are laid out; used again")
    parser.add_argument("--wheels", type=Path, help="where wheels are, and are downloaded to (default: in --work)")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="write everything there is to know to FOLDER/VERSION.json")
    recording.add_argument("--output", type=Path, default=Path(), metavar="FOLDER")
    # No character begins an option here: all of them are Python's.
    running = commands.add_parser(
        "run",
        help="run Python with the real torch_npu, for example: run -c 'import torch_npu'",
        prefix_chars="\0",
        add_help=False,
    )
    running.add_argument("arguments", nargs="*", help="as Python takes them")
    # argparse takes an option such as -c for its own, even behind "run".
    own = sys.argv[1:]
    start = own.index("run") + 1 if "run" in own else len(own)
    given = parser.parse_args(own[:start])
    work = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    try:
        machine = prepare(given.torch_npu, wheels=given.wheels or work / "wheels", work=work)
        if given.command == "run":
            return _run(machine, own[start:])
        content = record(machine, lambda text: print(text, file=sys.stderr))
    except (PackageError, StandInError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    write(content, machine.torch_npu.version, given.output)
    return 0


def _run(machine: Machine, arguments: list[str]) -> int:
    passed = {name: value for name, value in os.environ.items() if name.startswith("NPUIFY_STAND_IN_")}
    return subprocess.run([str(machine.python), *arguments], env=machine.environment(**passed), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
