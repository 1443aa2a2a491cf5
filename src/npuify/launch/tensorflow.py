"""What a TensorFlow program needs to train on several cards, as far as its text shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.launch.changes import Change
from npuify.project.frameworks.tensorflow_programs import AVERAGES, program_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from npuify.launch.job import Job

_SENDS: Final = re.compile(
    rb"\b(?:broadcast\w*|NPUBroadcastGlobalVariables\w+|NPUEstimator|npu_hooks_append|model_to_npu_estimator"
    rb"|npu_callbacks_append|npu_broadcast_scope_wrapper)\b"
)
_SHARDS: Final = re.compile(rb"\.shard\(|shard_and_rebatch_dataset|get_rank_id|get_npu_rank_id|worker_id|RANK_ID")
_SERVERS: Final = re.compile(rb"\bParameterServerStrategy\(")
_CLUSTER: Final = re.compile(rb"[\"']TF_CONFIG[\"']")
_OWN_CLUSTER: Final = re.compile(rb"environ\[[\"']TF_CONFIG[\"']\][ \t]*=(?!=)|putenv\([\"']TF_CONFIG[\"']")
_MPI: Final = re.compile(rb"^[ \t]*(?:import|from)[ \t]+mpi4py\b", re.MULTILINE)
_HOROVOD: Final = re.compile(rb"^[ \t]*(?:import|from)[ \t]+horovod\b", re.MULTILINE)


def parameter_servers(entry: Path) -> tuple[Path, int] | None:
    """The first place, by file and line, where a program sets a strategy with parameter servers up."""
    for file, raw, _ in program_files(entry):
        found = _SERVERS.search(raw)
        if found is not None:
            return file, raw.count(b"\n", 0, found.start()) + 1
    return None


def tensorflow_changes(job: Job, entry: Path) -> list[Change]:
    """What the program needs for several ranks. Names are searched in its files; nothing is parsed or run."""
    servers = parameter_servers(entry)
    if servers is not None:
        # Its workers are no ranks: they average nothing, and broadcast nothing.
        return list(_with_servers(job, entry, *servers))
    return list(_changes(job, entry)) if job.cards != 1 or job.nodes > 1 else []


def _with_servers(job: Job, entry: Path, file: Path, line: int) -> Iterator[Change]:
    yield Change(
        "note",
        "parameter servers find each other by TF_CONFIG, which this script sets: a chief, a worker for each other "
        "card, a server on each machine; EVALUATOR=CARD starts an evaluator on that card",
        file.name,
        line,
    )
    if job.nodes > 1:
        yield Change("must", "each machine has to be given the addresses of all, the first one first: HOSTS=a,b")
    for other, raw, _ in program_files(entry):
        own = _OWN_CLUSTER.search(raw)
        if own is not None:
            yield Change(
                "must",
                "it sets TF_CONFIG itself, in the place of what this script sets: take that out, or start each process "
                "by hand with the options that it asks for",
                other.name,
                raw.count(b"\n", 0, own.start()) + 1,
            )


def _changes(job: Job, entry: Path) -> Iterator[Change]:
    averages = sends = shards = adapter = False
    for file, raw, names in program_files(entry):
        tops = {name.partition(".")[0] for name in names}
        adapter = adapter or bool(tops & {"npu_bridge", "npu_device"})
        averages = averages or AVERAGES.search(raw) is not None
        sends = sends or _SENDS.search(raw) is not None
        shards = shards or _SHARDS.search(raw) is not None
        found = _HOROVOD.search(raw)
        if found is not None:
            line = raw.count(b"\n", 0, found.start()) + 1
            yield Change("must", "Horovod starts no ranks on NPUs; npuify migrate replaces it", file.name, line)
        mpi = _MPI.search(raw)
        if mpi is not None:
            text = "it uses MPI, which knows the processes that mpiexec starts; here every process is rank 0 of 1 to it"
            yield Change("check", text, file.name, raw.count(b"\n", 0, mpi.start()) + 1)
        cluster = _CLUSTER.search(raw)
        if cluster is not None:
            yield Change(
                "check",
                "it names TF_CONFIG, which this script does not set: a process knows its place by RANK_ID and "
                "RANK_SIZE",
                file.name,
                raw.count(b"\n", 0, cluster.start()) + 1,
            )
    if not adapter:
        yield Change("must", "it imports neither npu_bridge nor npu_device: migrate it first (npuify migrate)")
    if not averages:
        yield Change(
            "must",
            "nothing averages gradients: each process would train a model of its own; wrap the optimizer",
        )
    elif not sends:
        yield Change(
            "check", "nothing broadcasts the variables: ranks begin with different ones unless they are seeded alike"
        )
    if not shards:
        yield Change("check", "nothing in it asks for its rank: every process would train on all of the data")
