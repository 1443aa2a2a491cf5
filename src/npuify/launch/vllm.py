"""A service of vLLM on one or several machines: the script that starts it, and a unit of systemd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.vllm import choose_set
from npuify.language import phrase
from npuify.launch.changes import Change
from npuify.launch.template import filled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from npuify.knowledge.frameworks.vllm import VllmSet
    from npuify.launch.job import Job

UNIT = "vllm.service"


def vllm_set(version: str = "") -> VllmSet:
    """The releases that a service is written for: those of a vLLM, or the newest with a final plug-in.

    Raises:
        NpuifyError: no plug-in is known for that vLLM.
    """
    return choose_set(version, None).row


def set_in_words(row: VllmSet) -> str:
    """A set in one line."""
    return phrase(
        "vllm {vllm}, vllm-ascend {plugin}, torch {torch}, torch-npu {torch_npu}, CANN {cann} with NNAL, Python "
        "{python}",
        vllm=row.vllm[0],
        plugin=row.plugin,
        torch=row.torch,
        torch_npu=row.torch_npu,
        cann=row.cann,
        python=row.python,
    )


def unit(job: Job, script: Path) -> str:
    """The unit of systemd that runs a script."""
    of_machine = f"# {phrase('The number of this machine, from 0.')}\nEnvironment=NODE_RANK=0\n"
    return filled(
        "vllm.service", entry=job.entry, script=script.as_posix(), node_rank=of_machine if job.nodes > 1 else ""
    )


def vllm_changes(job: Job) -> Iterator[Change]:
    """What a service lacks, as far as its arguments show."""
    from npuify.knowledge.frameworks.vllm import VllmAim

    arguments = job.arguments
    for at, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if not name.startswith("--"):
            continue
        after = arguments[at + 1] if at + 1 < len(arguments) and not arguments[at + 1].startswith("--") else None
        row = VllmAim().argument(name[2:].replace("-", "_"), value or after)
        if row is not None and (row.action == "remove" or row.severity == "error"):
            yield Change("must", f"{name}: {row.message}" + (f"; {row.advice}" if row.advice else ""))
    if job.nodes > 1:
        yield Change(
            "check", "all machines need the same releases, and a model in the same place or fetched by each of them"
        )
