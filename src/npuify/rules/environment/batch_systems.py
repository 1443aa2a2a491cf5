"""GPUs that a job asks of a batch system or of Ray."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.text_file import listed
from npuify.source.shell import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Finding
    from npuify.rules.text_file import TextFile
    from npuify.source.shell import Command, Word


@listed(
    "NPU710",
    "gpus-asked-of-batch-system",
    Safety.MANUAL,
    evidence=Evidence.ASSUMED,
    source="Slurm's documentation of generic resources: each cluster names them in its gres.conf",
)
def BATCH(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A job requests GPUs from the batch system or Ray; the cluster's configuration determines what NPUs are called
    there."""
    raise NotImplementedError


_BATCH = re.compile(
    r"--gres(?:=|\s+)[\"']?(?:\w+:\d+,)*gpu\b[\w:]*|--gpus(?:-per-\w+)?(?:=|\s+)\S+|--gpus-per-\w+(?:=|\s+)\S+"
    r"|-G\s*\d+|-l\s+\S*n?gpus=\S+|-gpu\s+\"?\S+"
)
_DIRECTIVE = re.compile(r"#(?:SBATCH|PBS|BSUB|\$)\s+(.*)")
_PROGRAMS = frozenset(
    ("python", "python3", "bash", "sh", "torchrun", "accelerate", "deepspeed", "docker", "singularity")
)
"""Words with which the command begins that a job runs: what follows is no option of the batch system."""
_SUBMITTING = frozenset(("srun", "sbatch", "salloc", "qsub", "bsub"))


def judge_job(command: Command, file: TextFile) -> None:
    """Report what a command asks of a batch system, or of Ray."""
    name, words = command.name, command.words
    if name == "ray" and len(words) > 1 and words[1].value == "start":
        for word in words[2:]:
            if re.match(r"--num-gpus(?:=|$)", word.value):
                file.report(
                    BATCH,
                    (word.start, word.end),
                    "--num-gpus is for NVIDIA GPUs; in Ray, NPUs are the resource NPU",
                    subject="--num-gpus",
                    evidence=Evidence.PACKAGE,
                    source="ray-project/ray#41256, python/ray/_private/accelerators/npu.py",
                    advice="remove it, and Ray detects the machine's NPUs, or write --resources='{\"NPU\": 8}'; "
                    "Python code that requests num_gpus must request resources={'NPU': 1}",
                )
    if name in _SUBMITTING:
        _submitted(command, file)


def judge_comment(start: int, end: int, file: TextFile) -> None:
    """Report a batch system's directive that asks for GPUs."""
    match = _DIRECTIVE.match(file.source(start, end))
    if match is None:
        return
    request = _BATCH.search(match.group(1))
    if request is not None:
        at = start + len(match.group()[: match.start(1) + request.start()].encode())
        _asked(at, at + len(request.group().encode()), request.group(), file)


def judge_batch_options(words: Sequence[Word], file: TextFile) -> None:
    """Report options for a batch system that a variable holds."""
    for word in words:
        if _BATCH.match(word.value) and "=" in word.value:
            _asked(word.start, word.end, word.value.replace(UNKNOWN, "…"), file)


def _submitted(command: Command, file: TextFile) -> None:
    for at, word in enumerate(command.words[1:], start=1):
        if word.value.endswith((".py", ".sh")) or word.value.rpartition("/")[2] in _PROGRAMS:
            break
        if not word.value.startswith("-"):
            continue
        follower = command.words[at + 1] if at + 1 < len(command.words) else None
        text = word.value if "=" in word.value or follower is None else f"{word.value} {follower.value}"
        if _BATCH.match(text):
            _asked(word.start, word.end, text.replace(UNKNOWN, "…"), file)


def _asked(start: int, end: int, text: str, file: TextFile) -> None:
    file.report(
        BATCH,
        (start, end),
        phrase("GPUs are requested from the batch system: {text}", text=text),
        subject=text.partition("=")[0].split()[0],
        advice="ask the cluster's administrators what NPUs are called there; often it is --gres=npu:8",
    )
