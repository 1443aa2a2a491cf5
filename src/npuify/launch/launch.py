"""Launch scripts for a program, in one call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from npuify.knowledge.machine.launching import launchers
from npuify.language import ENGLISH, phrase
from npuify.launch.changes import Change, changes, patch
from npuify.launch.program import Program
from npuify.launch.scripts import RUN, scripts
from npuify.launch.tensorflow import tensorflow_changes
from npuify.launch.vllm import vllm_changes
from npuify.launch.write import write
from npuify.model import Evidence, Release  # noqa: TC001 - the types of fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npuify.launch.job import Job

PATCH = "program.patch"


class LaunchResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was made for a job.

    Attributes:
        format: version of this layout, 1.
        kind: ``launch``.
        world_size: ranks in all; None where the machines count their cards.
        commands: what to type on each machine, in order of the machines.
        program: what the program needs, or should be looked at.
        files: the texts, by name; they lie in ``output`` where that is not empty.
        message: what is known of the way, with how (``evidence``) and from where (``source``).
    """

    format: int = 1
    kind: str = "launch"
    language: str = ENGLISH
    """Of all text for people: ``en`` or ``zh``."""
    entry: str
    method: str
    cards: int | None
    nodes: int
    world_size: int | None
    master: str
    port: int
    release: Release
    commands: tuple[str, ...]
    program: tuple[Change, ...]
    output: str
    files: dict[str, str]
    message: str
    evidence: Evidence
    source: str

    @property
    def complete(self) -> bool:
        """Whether the program can be started as it is."""
        return all(change.level != "must" for change in self.program)


def launch(
    job: Job,
    output: Path | None = None,
    *,
    vendor_script: bool = False,
    interface: str = "",
    force: bool = False,
    more: Mapping[str, str] | None = None,
) -> LaunchResult:
    """Make the scripts that start a job, and write them if asked.

    The program is read, and never changed or run. Where it needs changes that are sure, they are written as
    ``program.patch`` beside the scripts.

    Args:
        output: the folder to write to; None writes nothing, and the texts are those for a folder ``launch``.
        vendor_script: also write ``run_distributed_npu.sh``.
        interface: the host's network interface through which machines meet.
        force: replace files that are there.
        more: further files to write with them; all are written, or none.

    Raises:
        NpuifyError: the program cannot be started in this way, or files cannot be written.
    """
    folder = (output or Path(job.folder, "launch")).resolve()
    entry = job.file
    program = Program(entry, Path(job.folder)) if entry is not None else None
    found: list[Change] = []
    if job.method == "vllm":
        program, found = Program.unknown(), list(vllm_changes(job))
    elif program is None:
        found.append(
            Change(
                "check",
                phrase(
                    "the module {entry} was not found in {folder}, and was not checked",
                    entry=job.entry,
                    folder=job.folder,
                ),
            )
        )
        program = Program.unknown()
    elif job.method == "tensorflow" and entry is not None:
        found = tensorflow_changes(job, entry)
    else:
        found = changes(job, program)
    files = scripts(job, program, folder, vendor_script=vendor_script, interface=interface)
    files.update(more or {})
    mended = patch(found, program)
    if mended:
        files[PATCH] = mended
    if output is not None:
        write(files, folder, force=force)
    row = launchers()[job.method]
    return LaunchResult(
        entry=job.entry,
        method=job.method,
        cards=job.cards,
        nodes=job.nodes,
        world_size=job.cards * job.nodes if job.cards is not None else None,
        master=job.master,
        port=job.port,
        release=job.release,
        commands=_commands(job, output),
        program=tuple(found),
        output=str(output) if output is not None else "",
        files=files,
        message=row.message,
        evidence=row.evidence,
        source=row.source,
    )


def _commands(job: Job, output: Path | None) -> tuple[str, ...]:
    script = (output or Path("launch")).joinpath(RUN).as_posix()
    if job.nodes == 1:
        return (f"bash {script}",)
    return tuple(f"NODE_RANK={node} bash {script}" for node in range(job.nodes))
