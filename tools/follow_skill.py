"""Follow a SKILL.md line by line, as a reader would: its blocks of bash in order, in one shell, in an empty folder.

    python -m tools.follow_skill SKILL_FOLDER --source PROJECT --work EMPTY_FOLDER --run "npuify simulate --devices 2"

Without a machine with NPUs, blocks marked ``npu`` are left out and ``$RUN`` plays the NPU; without a package index,
those marked ``install``. What was found in pages and not tried (``documented``) is left out unless it is asked for.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from npuify.handover.skill.blocks import Block, blocks

LEFT_OUT = ("install", "npu", "documented")


class Followed(NamedTuple):
    """What came of it."""

    code: int
    """0 where every step succeeded."""
    output: str
    done: int
    """Blocks that were run to their end."""
    left_out: int


def follow(
    skill: Path,
    source: Path,
    work: Path,
    *,
    run: str = "",
    leave_out: tuple[str, ...] = LEFT_OUT,
    environment: dict[str, str] | None = None,
    timeout: float = 600,
) -> Followed:
    """Run the steps of a skill.

    Args:
        skill: its folder.
        source: the project before its migration.
        work: an empty folder to begin in.
        run: what ``$RUN`` is; empty on a machine with NPUs.
        leave_out: blocks with one of these words are not run.
        environment: of the shell; None for that of this process.
        timeout: seconds for all steps together.
    """
    steps = [one for one in blocks((skill / "SKILL.md").read_text(encoding="utf-8")) if one.language == "bash"]
    chosen = [one for one in steps if not set(one.words) & set(leave_out)]
    shell = {**(environment if environment is not None else os.environ)}
    shell |= {"SKILL_DIR": str(skill.resolve()), "SOURCE": str(source.resolve()), "RUN": run}
    done = subprocess.run(
        ["bash", "-c", _script(chosen)], cwd=work, env=shell, capture_output=True, text=True, timeout=timeout
    )
    output = done.stdout + done.stderr
    return Followed(done.returncode, output, done.stdout.count(_END), len(steps) - len(chosen))


_END = "=== step done: line "


def _script(steps: list[Block]) -> str:
    parts = ["set -eu -o pipefail"]
    for step in steps:
        parts.append(step.text.rstrip("\n"))
        parts.append(f"echo '{_END}{step.line}'")
    return "\n".join(parts) + "\n"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("skill", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="an empty folder")
    parser.add_argument("--run", default="", help="what $RUN is, such as: npuify simulate")
    parser.add_argument("--also", action="append", default=[], choices=LEFT_OUT, help="do not leave these out")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    if any(arguments.work.iterdir()):
        parser.error(f"{arguments.work} is not empty")
    leave_out = tuple(word for word in LEFT_OUT if word not in arguments.also)
    followed = follow(arguments.skill, arguments.source, arguments.work, run=arguments.run, leave_out=leave_out)
    print(followed.output)
    print(f"{followed.done} steps done, {followed.left_out} left out, exit code {followed.code}")
    return followed.code


if __name__ == "__main__":
    sys.exit(main())
