"""The commands that start a project, as they read on an NPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from npuify.engine.prepare import prepare
from npuify.rewrite.fixpoint import migrate_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from npuify.model import Survey
    from npuify.options import Options

_MOST: Final = 12
"""Commands that are taken over from documentation."""

_PLAIN: Final = re.compile(r"[\w\s./=:,@%+\-'\"]+")
"""A command of documentation that does one thing: nothing that a shell would take as more than words."""
_TO_FILL_IN: Final = re.compile(r"/path/to|path_to|\byour[_-]|\.\.\.|…|\bXX+\b", re.IGNORECASE)
_COMPUTES: Final = re.compile(r"(?:python[\d.]*|torchrun|torch_npu_run|accelerate|deepspeed|bash|sh|\S+\.sh)(?:\s|$)")
_ASSIGNMENTS: Final = re.compile(r"(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)*")


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A command to be run in the project's folder."""

    command: str
    kind: Literal["given", "documented", "launcher"]
    """``given``: by whoever wrote the guide; ``documented``: in the project's pages; ``launcher``: a script."""
    where: str
    """File and line where it stands; empty for what was given."""
    complete: bool = True
    """Whether it can be run as it is: nothing has to be filled in."""

    @property
    def with_runner(self) -> str:
        """With ``$RUN`` before the program and after variables that are set for it; what computes nothing stays."""
        found = _ASSIGNMENTS.match(self.command)
        end = found.end() if found else 0
        if not _COMPUTES.match(self.command, end):
            return self.command
        return f"{self.command[:end]}$RUN {self.command[end:]}"


def starts(project: Path, options: Options, survey: Survey, given: Sequence[str]) -> tuple[Start, ...]:
    """What starts the project: what was given, then its launchers, then what its pages say.

    What is read is read as a shell script of the project, and migrated like one: variables, devices, backends.

    Args:
        given: commands in the words of the migrated project; they stay as they are.
    """
    made = [Start(command=" ".join(command.split()), kind="given", where="") for command in given]
    read: list[Start] = []
    for point in survey.entry_points:
        for mention in point.mentions:
            where = f"{mention.file}:{mention.line}"
            if mention.kind == "launcher" and mention.file.endswith((".sh", ".bash")):
                read.append(Start(command=f"bash {mention.file}", kind="launcher", where=mention.file))
            elif mention.kind == "documentation" and _PLAIN.fullmatch(mention.text):
                complete = _TO_FILL_IN.search(mention.text) is None and mention.text.count('"') % 2 == 0
                read.append(Start(command=mention.text, kind="documented", where=where, complete=complete))
    read = list({one.command: one for one in read}.values())[:_MOST]
    translated = _for_npu([one.command for one in read], project, options)
    return (
        *made,
        *(msgspec.structs.replace(one, command=text) for one, text in zip(read, translated, strict=True)),
    )


def _for_npu(commands: Sequence[str], project: Path, options: Options) -> list[str]:
    if not commands:
        return []
    work = prepare([project], options)
    worker = work.worker()
    script = "".join(f"{command}\n" for command in commands)
    # The name is that of no file; it only says where the commands are run from.
    done = migrate_file("npuify-commands.sh", script.encode(), worker, unsafe=True, kind="shell")
    lines = (done.raw or script.encode()).decode().splitlines()
    return lines if len(lines) == len(commands) else list(commands)
