"""Commands of NVIDIA's tools and installers, wherever a shell runs them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.knowledge.frameworks.variables import TENSORFLOW
from npuify.knowledge.settings.commands import commands
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.environment.batch_systems import judge_job
from npuify.rules.environment.container_commands import judge_container
from npuify.rules.text_file import listed
from npuify.source.shell import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.shell import Command, Word


@listed(
    "NPU708",
    "nvidia-smi-command",
    Safety.REVIEW,
    evidence=Evidence.DOCUMENTED,
    source="Ascend documentation of npu-smi",
)
def NVIDIA_SMI(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A script calls nvidia-smi; the tool for NPUs is npu-smi, with different options and output.

    Edited only where the script checks that it exists, lists the devices or counts them. The count is that of the
    device files visible in a container.

    Before::

        nvidia-smi
        command -v nvidia-smi || exit 1
        GPUS=$(nvidia-smi -L | wc -l)

    After::

        npu-smi info
        command -v npu-smi || exit 1
        GPUS=$(ls -d /dev/davinci[0-9]* | wc -l)
    """
    raise NotImplementedError


@listed(
    "NPU709",
    "nvidia-command",
    Safety.MANUAL,
    Severity.WARNING,
    source="the table of commands; npuify says the source with each finding",
)
def NVIDIA_COMMAND(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A script calls another NVIDIA program (a compiler, profiler or monitor), or installs NVIDIA packages.

    So does what starts ranks for Horovod, or for MPI under TensorFlow: neither tells an NPU program its rank.
    """
    raise NotImplementedError


@listed("NPU712", "cuda-folder-in-search-path", Safety.MANUAL, Severity.INFO, source="vendor installation guide")
def FOLDER(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A search path contains a CUDA folder, or a CUDA module is loaded; CANN's set_env.sh sets what an NPU needs."""
    raise NotImplementedError


_WRAPPERS = frozenset(("sudo", "watch", "srun", "nohup", "time", "timeout", "exec", "env", "xargs", "nice"))
_LOOKUPS = frozenset(("command", "which", "type", "hash", "where", "whereis"))
_INSTALLERS = frozenset(("apt", "apt-get", "aptitude", "yum", "dnf", "microdnf", "zypper", "apk", "tdnf"))
_SYSTEM_PACKAGE = re.compile(
    r"(?:cuda(?:-[\w.*-]+)?|lib(?:cudnn|nccl|cublas|cusparse|cusolver|cufft|curand|nvinfer|nvjpeg|npp|nvidia)[\w.*-]*"
    r"|nvidia-[\w.*-]+|(?:python3-)?(?:tensorrt|libnvinfer)[\w.*-]*|datacenter-gpu-manager[\w.-]*|nsight-[\w.-]+)(?:[=:].*)?"
)
_DOWNLOADED = re.compile(
    r"https?://(?:(?:\w+\.)?download\.nvidia\.(?:com|cn)|developer\.nvidia\.com/compute|nvidia\.github\.io)/\S+"
)
_SET_ENV = (
    "source CANN's set_env.sh instead: /usr/local/Ascend/ascend-toolkit/set_env.sh, from CANN 8.5 on "
    "/usr/local/Ascend/cann/set_env.sh"
)


def judge_command(command: Command, file: TextFile) -> None:
    """Report what a command of NVIDIA's, of a container engine or of a batch system needs."""
    words = command.words
    name = command.name
    if name in ("echo", "printf"):
        return
    for at, word in enumerate(words):
        if word.value.rpartition("/")[2] == "nvidia-smi":
            _nvidia_smi(command, at, file)
    if name == "module" and len(words) > 2 and words[1].value in ("load", "add"):
        for word in words[2:]:
            if re.match(r"(?i)(?:cuda|cudnn|nccl|nvhpc)\b", word.value):
                file.report(
                    FOLDER,
                    (word.start, word.end),
                    phrase("the module {value} belongs to CUDA", value=word.value),
                    subject="CUDA",
                    advice=_SET_ENV,
                )
    program = next((word for word in words if word.value.rpartition("/")[2] not in _WRAPPERS), words[0])
    fact = commands().get(program.value.rpartition("/")[2])
    if fact is not None:
        file.report(
            NVIDIA_COMMAND,
            (program.start, program.end),
            phrase("{name} is an NVIDIA tool", name=fact.name)
            + (phrase("; on an NPU: {npu}", npu=fact.npu) if fact.npu else " and has no counterpart"),
            subject=fact.name,
            evidence=fact.evidence,
            source=fact.source,
            advice=fact.message,
        )
    _started_by_others(program, file)
    judge_job(command, file)
    judge_container(words, file)
    _installed(words, file)


def _started_by_others(program: Word, file: TextFile) -> None:
    """A launcher that makes ranks which the adapter of TensorFlow does not see."""
    name = program.value.rpartition("/")[2]
    is_for_tensorflow = file.framework == TENSORFLOW
    if name != "horovodrun" and not (name in ("mpirun", "mpiexec") and is_for_tensorflow):
        return
    file.report(
        NVIDIA_COMMAND,
        (program.start, program.end),
        phrase("{name} starts processes for Horovod, which does not know NPUs", name=name)
        if name == "horovodrun"
        else phrase("{name} numbers its processes for MPI; the adapter does not read that", name=name),
        subject=name,
        evidence=Evidence.DOCUMENTED,
        source="hicann/tensorflow@82957b9:docs/en/tfadapter_1/migration/model_training/distributed_training.md",
        advice="start one process for each card, with RANK_ID, RANK_SIZE, ASCEND_DEVICE_ID, JOB_ID and a rank table: "
        "npuify launch writes the script"
        if is_for_tensorflow
        else "start one process for each card with torchrun: npuify launch writes the script",
    )


_LISTING = (["-L"], ["--list-gpus"])
_COUNT = re.compile(r"--query-gpu=(?:count|index|name|gpu_name|uuid|gpu_uuid)$")


def _nvidia_smi(command: Command, at: int, file: TextFile) -> None:
    words = command.words
    word = words[at]
    rest = [one.value for one in words[at + 1 :]]
    before = words[at - 1].value.rpartition("/")[2] if at else ""
    place = (word.start, word.end)
    edits: list[Replacement | None] = []
    tool = word.value.rpartition("/")
    span = word.span(len(word.value) - len("nvidia-smi"), len(word.value))
    message = "nvidia-smi does not list NPUs"
    if before in _LOOKUPS or (before.startswith("-") and words[0].value in _LOOKUPS):
        edits = [(*span, "npu-smi") if span is not None else None]
    elif at and not (command.name in _WRAPPERS and (at == 1 or all(w.value[:1] in "-0123456789" for w in words[1:at]))):
        return
    elif not rest and not command.pipe and not word.is_quoted:
        # systemd looks for no program that is given without its folder.
        folder = "/usr/local/bin/" if file.kind == "unit" and tool[0] else ""
        edits = [(word.start, word.end, f"{folder}npu-smi info")]
    elif (rest in _LISTING or _counts(rest)) and command.pipe == (("wc", "-l"),) and not at:
        edits = [(command.start, command.pipe_end, "ls -d /dev/davinci[0-9]* | wc -l")]
        message = "nvidia-smi does not count NPUs; each has a device file"
    elif rest in _LISTING and not command.pipe and not tool[0] and not at:
        edits = [(command.start, command.end, "npu-smi info -l")]
    file.report(
        NVIDIA_SMI,
        place,
        message,
        edits=edits,
        subject="nvidia-smi",
        advice=""
        if edits
        else "npu-smi has different options and output: npu-smi info, npu-smi info -l, npu-smi info -t usages -i 0; "
        "count NPUs by /dev/davinci[0-9]*",
    )


def _counts(rest: list[str]) -> bool:
    """Whether one line a device is asked for, without a head."""
    return any(_COUNT.match(one) for one in rest) and any("noheader" in one for one in rest)


def _installed(words: tuple[Word, ...], file: TextFile) -> None:
    """NVIDIA's packages that the system's own installer is asked for, and what is fetched from NVIDIA."""
    program = next((at for at, word in enumerate(words) if word.value.rpartition("/")[2] not in _WRAPPERS), 0)
    name = words[program].value.rpartition("/")[2]
    if name in _INSTALLERS and any(word.value in ("install", "add", "in", "reinstall") for word in words[program:]):
        found = [word for word in words[program + 1 :] if _SYSTEM_PACKAGE.fullmatch(word.value.replace(UNKNOWN, "0"))]
        if found:
            listed_names = ", ".join(word.value.replace(UNKNOWN, "…") for word in found)
            file.report(
                NVIDIA_COMMAND,
                (found[0].start, found[0].end),
                phrase("NVIDIA packages are installed: {listed_names}", listed_names=listed_names),
                subject=found[0].value.partition("=")[0],
                evidence=Evidence.DOCUMENTED,
                source="vendor installation guide",
                advice="remove them: the NPU driver and firmware belong to the host, and CANN, which replaces CUDA, "
                "cuDNN and NCCL, comes with an image from quay.io/ascend/cann or its own installer",
            )
    elif name in ("wget", "curl", "aria2c"):
        for word in words[program + 1 :]:
            if _DOWNLOADED.match(word.value):
                file.report(
                    NVIDIA_COMMAND,
                    (word.start, word.end),
                    "software is downloaded from NVIDIA",
                    subject="nvidia.com",
                    evidence=Evidence.DOCUMENTED,
                    source="vendor installation guide",
                    advice="remove it if it is CUDA or a part of it; CANN comes with an image from "
                    "quay.io/ascend/cann or its own installer",
                )


_SEARCH_PATHS = frozenset(("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"))
_CUDA_FOLDER = re.compile(r"/(?:cuda|cudnn|nccl|nvidia)[\w.-]*(?:/|:|$)")


def judge_search_path(name: str, value: str, place: tuple[int, int], file: TextFile) -> None:
    """Report a search path with a folder of CUDA in it."""
    if name in _SEARCH_PATHS and _CUDA_FOLDER.search(value):
        file.report(
            FOLDER,
            place,
            phrase("{name} contains a CUDA folder, which is missing or has nothing for an NPU", name=name),
            subject=name,
            advice=_SET_ENV,
        )
