"""What a program needs for a launcher's processes to find each other; with edits where they are sure."""

from __future__ import annotations

import ast
import difflib
import re
from typing import TYPE_CHECKING, Literal

import msgspec

from npuify.knowledge.machine.launching import launchers
from npuify.language import phrase
from npuify.launch.program import keyword, unconditional
from npuify.model import Edit, NpuifyError
from npuify.rewrite.edits import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from npuify.launch.job import Job
    from npuify.launch.program import Place, Program
    from npuify.source.python import PythonSource


class Change(msgspec.Struct, frozen=True):
    """One thing about the program: it ``must`` be changed, be looked at (``check``), or is good to know (``note``)."""

    level: Literal["must", "check", "note"]
    message: str
    file: str = ""
    line: int = 0
    edits: tuple[Edit, ...] = ()
    """They mend it; they are in the patch that is written beside the scripts."""


def changes(job: Job, program: Program) -> list[Change]:
    """What ``program`` needs so that ``job`` works, in the order of its files.

    Raises:
        NpuifyError: it starts processes by itself, whatever its arguments, so that this way would start too many.
    """
    found = [
        *_own_processes(job, program),
        *_group(job, program),
        *_card(job, program),
        *_overwritten(program),
        *_positions(job, program),
        *_meeting_point(job, program),
    ]
    found += [Change("check", "could not be parsed, and was not checked", file) for file in program.unread]
    return found


def patch(changes: Iterable[Change], program: Program) -> str:
    """The edits of ``changes`` for ``patch -p1``, in the folder where the program runs; empty without any."""
    sources: dict[str, PythonSource] = {}
    written = (place for _, place in program.writes)
    for place in (*program.rank_arguments, *program.joins, *program.samplers, *written):
        sources[place.file] = place.source
    text = ""
    by_file: dict[str, set[Edit]] = {}
    for change in changes:
        if change.edits:
            by_file.setdefault(change.file, set()).update(change.edits)
    for file, edits in sorted(by_file.items()):
        old = sources[file].data
        new = apply_edits(old, sorted(edits))
        text += "".join(
            line if line.endswith("\n") else phrase("{line}\n\\ No newline at end of file\n", line=line)
            for line in difflib.unified_diff(
                old.decode("utf-8", "surrogateescape").splitlines(keepends=True),
                new.decode("utf-8", "surrogateescape").splitlines(keepends=True),
                f"a/{file}",
                f"b/{file}",
            )
        )
    return text


def spawns_itself(program: Program) -> Place | None:
    """Where the program starts its processes by itself, whatever its arguments are; None where it does not."""
    return next(filter(unconditional, program.spawns), None)


def _own_processes(job: Job, program: Program) -> Iterator[Change]:
    place = spawns_itself(program)
    if place is None:
        for one in program.spawns:
            yield Change(
                "check",
                phrase(
                    "calls mp.spawn conditionally; choose arguments so that it does not, since {method} "
                    "already starts the processes",
                    method=job.method,
                ),
                one.file,
                one.line,
            )
        return
    if job.method != "spawn":
        raise NpuifyError(
            "the program starts a process for each card itself, so every process of this launcher would start all of "
            "them again",
            advice="launch it with --method spawn, or remove mp.spawn and call its function once",
            file=place.file,
            line=place.line,
        )
    if job.nodes > 1:
        raise NpuifyError(
            "the program starts a process for each card itself; whether it computes ranks across several machines is "
            "unknown",
            advice="remove mp.spawn and call its function once: --method spawn then starts the processes and sets "
            "RANK and LOCAL_RANK for each",
            file=place.file,
            line=place.line,
        )
    yield Change("note", "starts its processes by itself; the script runs it once", place.file, place.line)


def _group(job: Job, program: Program) -> Iterator[Change]:
    if not program.joins_group and not program.spawns:
        yield Change(
            "must",
            "it joins no process group: each process would train alone, on all of the data; npuify distribute "
            "converts such a program",
        )
    for place in program.joins:
        backend = keyword(place.node, "backend")
        value: ast.AST | None = backend.value if backend else None
        if value is None and isinstance(place.node, ast.Call) and place.node.args:
            value = place.node.args[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.lower() == "nccl":
            yield Change("must", "uses nccl, which needs NVIDIA GPUs; run npuify migrate first", place.file, place.line)


def _card(job: Job, program: Program) -> Iterator[Change]:
    """How the program learns which card is its own."""
    if "LOCAL_RANK" in program.reads or program.counts_cards or spawns_itself(program) is not None:
        return
    if passes_argument(job, program):
        return
    if not program.rank_arguments:
        if program.joins and not program.starters and program.mpi is None:
            place = program.joins[0]
            yield Change(
                "check" if program.spawns else "must",
                "reads neither LOCAL_RANK nor --local_rank, so all processes would use the same card; before joining:"
                ' torch.npu.set_device(int(os.environ["LOCAL_RANK"]))',
                place.file,
                place.line,
            )
        return
    for place in program.rank_arguments:
        edits = tuple(_default_from_environment(place))
        yield Change(
            "must",
            "takes its card only from --local_rank, which this launcher does not pass; its default should be the "
            "environment variable LOCAL_RANK",
            place.file,
            place.line,
            edits,
        )


def passes_argument(job: Job, program: Program) -> bool:
    """Whether torch.distributed.launch can hand the program ``--local-rank`` (so spelt since torch 2.0), and has to."""
    return (
        job.method == "launch"
        and "LOCAL_RANK" not in program.reads
        and any("--local-rank" in place.code for place in program.rank_arguments)
    )


def _default_from_environment(place: Place) -> Iterator[Edit]:
    call = place.node
    source = place.source
    default = keyword(call, "default")
    kind = keyword(call, "type")
    if kind is not None and source.code(kind.value) != "int":
        return
    old = source.code(default.value) if default is not None else "0"
    if default is not None and not re.fullmatch(r"-?\d+|None", old):
        return
    fallback = "0" if old in ("None", "-1") else old
    value = phrase('int(os.environ.get("LOCAL_RANK", {fallback}))', fallback=fallback)
    if default is not None:
        yield _replacement(source, default.value, value)
    else:
        end = source.end(call) - 1
        if source.segment(end, end + 1) != ")" or source.segment(end - 1, end) == ",":
            return
        yield Edit(end, end, "", f", default={value}")
    yield from _import_os(source)


def _overwritten(program: Program) -> Iterator[Change]:
    if program.mpi is not None and any(name == "RANK" for name, _ in program.writes):
        yield Change(
            "must",
            "takes its ranks from MPI, so mpiexec must start it; here every process would be rank 0",
            program.mpi.file,
            program.mpi.line,
        )
        return
    for name, place in program.writes:
        if not unconditional(place):
            # Nearly always for another launcher, or where the variable is not there.
            continue
        statement = place.source.parent(place.node)
        edits: tuple[Edit, ...] = ()
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and name.startswith("MASTER_"):
            source = place.source
            # The target's own spelling of os.environ is kept.
            owner = source.code(place.node.value) if isinstance(place.node, ast.Subscript) else "os.environ"
            edits = (_replacement(source, statement, f'{owner}.setdefault("{name}", {source.code(statement.value)})'),)
        yield Change(
            "must" if edits else "check",
            phrase("sets {name} itself, overriding the launcher", name=name)
            + ("" if edits else "; check that it is the same"),
            place.file,
            place.line,
            edits,
        )


def _positions(job: Job, program: Program) -> Iterator[Change]:
    """Ranks and sizes that hold on one machine only."""
    if job.nodes == 1:
        return
    for place in (*program.joins, *program.samplers):
        for argument, variable, wrong in (
            ("rank", "RANK", r"(?i)local_?rank|\bgpu\b"),
            ("world_size", "WORLD_SIZE", r"device_count"),
            ("num_replicas", "WORLD_SIZE", r"device_count"),
        ):
            given = keyword(place.node, argument)
            if given is None or not re.search(wrong, place.source.code(given.value)):
                continue
            edits = (
                _replacement(place.source, given.value, f'int(os.environ["{variable}"])'),
                *_import_os(place.source),
            )
            yield Change(
                "must",
                phrase(
                    "{argument}={value} counts only one machine's cards; across {nodes} machines it is {variable}",
                    argument=argument,
                    value=place.source.code(given.value),
                    nodes=job.nodes,
                    variable=variable,
                ),
                place.file,
                place.line,
                edits,
            )


def _meeting_point(job: Job, program: Program) -> Iterator[Change]:
    for place in program.joins:
        method = keyword(place.node, "init_method")
        text = method.value.value if method is not None and isinstance(method.value, ast.Constant) else None
        if method is None or not isinstance(text, str) or not text.startswith("tcp://"):
            continue
        loopback = re.match(r"tcp://(127\.|localhost|\[::1\])", text) is not None
        if job.method == "torch_npu_run" or (loopback and job.nodes > 1):
            yield Change(
                "must",
                phrase("uses the rendezvous address {text} instead of the launcher's", text=text),
                place.file,
                place.line,
                (_replacement(place.source, method.value, '"env://"'),),
            )
        else:
            yield Change(
                "check",
                phrase("uses the rendezvous address {text} instead of the launcher's", text=text),
                place.file,
                place.line,
            )
    if job.method == "torch_npu_run" and job.release.torch_npu not in launchers()["torch_npu_run"].rewrites_env:
        yield Change(
            "note",
            phrase(
                "in torch_npu {torch_npu} only the launchers meet in the faster store; the program's "
                'processes do so with init_method=f"parallel://{{MASTER_ADDR}}:{{MASTER_PORT}}"',
                torch_npu=job.release.torch_npu,
            ),
        )


def _replacement(source: PythonSource, node: ast.AST, text: str) -> Edit:
    start, end = source.start(node), source.end(node)
    return Edit(start, end, source.segment(start, end), text)


def _import_os(source: PythonSource) -> Iterator[Edit]:
    """``import os`` before the first import, where the module has none."""
    first = None
    for statement in source.tree.body:
        if isinstance(statement, ast.Import) and any(
            alias.name == "os" and alias.asname is None for alias in statement.names
        ):
            return
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if first is None and isinstance(statement, (ast.Import, ast.ImportFrom)) and not future:
            first = statement
    if first is not None:
        start = source.start(first)
        yield Edit(start, start, "", "import os\n")
