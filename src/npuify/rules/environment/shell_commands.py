"""Commands of NVIDIA's tools, of containers and of batch systems, wherever a shell runs them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.knowledge.commands import commands
from npuify.model import Evidence, Safety, Severity
from npuify.rules.environment.containers import CONTAINER_NEEDS, DEVICES, MOUNTS, NVIDIA_PLACE, judge_image
from npuify.rules.text_file import listed
from npuify.source.shell import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    """A script calls nvidia-smi; the tool for NPUs is npu-smi, with other options and another output.

    Edited where only its being there, a look at the devices, or their number is asked for. The number is that of the
    device files, as a container has them.

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
    """A script calls another program of NVIDIA's (a compiler, a profiler, a monitor), or installs its packages."""
    raise NotImplementedError


@listed(
    "NPU710",
    "gpus-asked-of-batch-system",
    Safety.MANUAL,
    evidence=Evidence.ASSUMED,
    source="Slurm's documentation of generic resources: their names are those of the cluster's own gres.conf",
)
def BATCH(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A job asks the batch system, or Ray, for GPUs; what NPUs are called there, the cluster's configuration says."""
    raise NotImplementedError


@listed(
    "NPU711",
    "gpus-given-to-container",
    Safety.REVIEW,
    evidence=Evidence.DOCUMENTED,
    source="vllm-ascend installation guide; Ascend mind-cluster documentation, Ascend Docker Runtime",
)
def CONTAINER(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A container is started with GPUs; one for NPUs needs their device files and the host's driver.

    Before::

        docker run --rm --gpus '"device=0,1"' image

    After::

        docker run --rm --device /dev/davinci0 --device /dev/davinci1 --device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro -v /usr/local/dcmi:/usr/local/dcmi:ro -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro -v /etc/ascend_install.info:/etc/ascend_install.info:ro image
    """  # noqa: E501 - one command
    raise NotImplementedError


@listed("NPU712", "cuda-folder-in-search-path", Safety.MANUAL, Severity.INFO, source="vendor installation guide")
def FOLDER(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A search path names a folder of CUDA, or a module of it is loaded; CANN's set_env.sh sets what an NPU needs."""
    raise NotImplementedError


_WRAPPERS = frozenset(("sudo", "watch", "srun", "nohup", "time", "timeout", "exec", "env", "xargs", "nice"))
_LOOKUPS = frozenset(("command", "which", "type", "hash", "where", "whereis"))
_ENGINES = frozenset(("docker", "podman", "nvidia-docker", "nerdctl"))
_OTHER_ENGINES = frozenset(("apptainer", "singularity"))
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
                    f"the module {word.value} is CUDA's",
                    subject="CUDA",
                    advice=_SET_ENV,
                )
    program = next((word for word in words if word.value.rpartition("/")[2] not in _WRAPPERS), words[0])
    fact = commands().get(program.value.rpartition("/")[2])
    if fact is not None:
        file.report(
            NVIDIA_COMMAND,
            (program.start, program.end),
            f"{fact.name} is NVIDIA's" + (f"; on an NPU: {fact.npu}" if fact.npu else " and has no counterpart"),
            subject=fact.name,
            evidence=fact.evidence,
            source=fact.source,
            advice=fact.message,
        )
    if name == "ray" and len(words) > 1 and words[1].value == "start":
        for word in words[2:]:
            if re.match(r"--num-gpus(?:=|$)", word.value):
                file.report(
                    BATCH,
                    (word.start, word.end),
                    "Ray counts NVIDIA's GPUs by --num-gpus; NPUs are its resource NPU",
                    subject="--num-gpus",
                    evidence=Evidence.PACKAGE,
                    source="ray-project/ray#41256, python/ray/_private/accelerators/npu.py",
                    advice="leave it out, and Ray finds the NPUs of the machine, or write --resources='{\"NPU\": 8}'; "
                    "what asks for num_gpus in Python has to ask for resources={'NPU': 1}",
                )
    if name in _SUBMITTING:
        _submitted(command, file)
    engine = next((at for at, word in enumerate(words) if word.value.rpartition("/")[2] in _ENGINES), None)
    if engine is not None and any(word.value in ("run", "create", "pull") for word in words[engine + 1 : engine + 3]):
        _container(words[engine:], file)
    engine = next((at for at, word in enumerate(words) if word.value.rpartition("/")[2] in _OTHER_ENGINES), None)
    if engine is not None:
        _other_container(words[engine:], file)
    for before, word in zip(("", *(one.value for one in words)), words, strict=False):
        if word.value.startswith("--container-image="):
            _image(word.part(len("--container-image="), len(word.value)), file)
        elif before == "--container-image":
            _image(word, file)
    _installed(words, file)


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
        f"the batch system is asked for GPUs: {text}",
        subject=text.partition("=")[0].split()[0],
        advice="ask the cluster's administrators what NPUs are called there; often it is --gres=npu:8",
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
    message = "nvidia-smi sees no NPU"
    if before in _LOOKUPS or (before.startswith("-") and words[0].value in _LOOKUPS):
        edits = [(*span, "npu-smi") if span is not None else None]
    elif at and not (command.name in _WRAPPERS and (at == 1 or all(w.value[:1] in "-0123456789" for w in words[1:at]))):
        return
    elif not rest and not command.pipe and not word.is_quoted:
        edits = [(word.start, word.end, "npu-smi info")]
    elif (rest in _LISTING or _counts(rest)) and command.pipe == (("wc", "-l"),) and not at:
        edits = [(command.start, command.pipe_end, "ls -d /dev/davinci[0-9]* | wc -l")]
        message = "nvidia-smi counts no NPU; there is a device file for each"
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
        else "npu-smi has other options and another output: npu-smi info, npu-smi info -l, npu-smi info -t usages -i 0;"
        " the number of NPUs is that of /dev/davinci[0-9]*",
    )


def _counts(rest: list[str]) -> bool:
    """Whether one line a device is asked for, without a head."""
    return any(_COUNT.match(one) for one in rest) and any("noheader" in one for one in rest)


_NAMING = frozenset(("--name", "--hostname", "-h", "-e", "--env", "--network", "--net", "-v", "--volume", "-w"))
"""Options of docker run whose value is no image, whatever it looks like."""


def _container(words: tuple[Word, ...], file: TextFile) -> None:
    for at, word in enumerate(words):
        value = word.value
        if value == "--gpus" and at + 1 < len(words):
            given, end = words[at + 1].value, words[at + 1].end
        elif value.startswith("--gpus="):
            given, end = value.removeprefix("--gpus="), word.end
        elif value in ("--runtime=nvidia", "nvidia") and (value != "nvidia" or words[at - 1].value == "--runtime"):
            span = word.span(len(value) - len("nvidia"), len(value))
            file.report(
                CONTAINER,
                (word.start, word.end),
                "the container runtime nvidia is NVIDIA's; that for NPUs is called ascend",
                edits=[(*span, "ascend") if span is not None else None],
                subject="--runtime",
                advice="it has to be installed on the host, and takes the devices from ASCEND_VISIBLE_DEVICES",
            )
            continue
        else:
            place = NVIDIA_PLACE.search(value)
            if place is not None or value.rpartition("=")[0].endswith("nvidia.com/gpu"):
                shown = place.group() if place is not None else value
                file.report(
                    CONTAINER,
                    (word.start, word.end),
                    f"{shown} of the host, given to a container, is NVIDIA's",
                    subject=shown,
                    advice=CONTAINER_NEEDS,
                )
            elif at and not value.startswith("-") and words[at - 1].value not in _NAMING:
                _image(word, file)
            continue
        devices = _devices(given)
        file.report(
            CONTAINER,
            (word.start, end),
            "--gpus gives a container NVIDIA's GPUs",
            edits=[(word.start, end, f"{devices} {MOUNTS}")] if devices else (),
            subject="--gpus",
            advice="" if devices else CONTAINER_NEEDS,
        )


def _image(word: Word, file: TextFile) -> None:
    # enroot writes the registry before a hash sign.
    name = word.value.removeprefix("docker://").replace("#", "/", 1)
    judge_image(name, (word.start, word.end), file)


def _other_container(words: tuple[Word, ...], file: TextFile) -> None:
    """A container of Apptainer's, which was Singularity."""
    for word in words[1:]:
        if word.value in ("--nv", "--nvccli"):
            file.report(
                CONTAINER,
                (word.start, word.end),
                f"{word.value} gives a container NVIDIA's GPUs and driver",
                subject=word.value,
                advice="take it out; device files are there without it, and the driver is bound by "
                "--bind /usr/local/Ascend/driver,/usr/local/dcmi,/usr/local/bin/npu-smi,/etc/ascend_install.info",
            )
        elif word.value.startswith("docker://"):
            _image(word, file)


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
                f"NVIDIA's packages are installed: {listed_names}",
                subject=found[0].value.partition("=")[0],
                evidence=Evidence.DOCUMENTED,
                source="vendor installation guide",
                advice="leave them out: the driver and the firmware of NPUs belong to the host, and CANN, which takes "
                "the place of CUDA, cuDNN and NCCL, comes with an image of quay.io/ascend/cann or its own installer",
            )
    elif name in ("wget", "curl", "aria2c"):
        for word in words[program + 1 :]:
            if _DOWNLOADED.match(word.value):
                file.report(
                    NVIDIA_COMMAND,
                    (word.start, word.end),
                    "software is fetched from NVIDIA",
                    subject="nvidia.com",
                    evidence=Evidence.DOCUMENTED,
                    source="vendor installation guide",
                    advice="leave it out where it is CUDA or what belongs to it; CANN comes with an image of "
                    "quay.io/ascend/cann or its own installer",
                )


def _devices(given: str) -> str:
    """``--device`` options for what ``--gpus`` asks for; empty where the devices cannot be told."""
    text = given.strip("\"'")
    if text in ("all", "device=all", "-1"):
        # Every device file, whatever their number is.
        return f"$(printf -- '--device %s ' /dev/davinci[0-9]*) {DEVICES}"
    match = re.fullmatch(r"device=(\d+(?:,\d+)*)", text)
    numbers = match.group(1).split(",") if match else [str(one) for one in range(int(text))] if _few(text) else []
    return " ".join([*(f"--device /dev/davinci{number}" for number in numbers), DEVICES]) if numbers else ""


def _few(text: str) -> bool:
    return text.isdigit() and 0 < int(text) <= 16


_SEARCH_PATHS = frozenset(("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"))
_CUDA_FOLDER = re.compile(r"/(?:cuda|cudnn|nccl|nvidia)[\w.-]*(?:/|:|$)")


def judge_search_path(name: str, value: str, place: tuple[int, int], file: TextFile) -> None:
    """Report a search path with a folder of CUDA in it."""
    if name in _SEARCH_PATHS and _CUDA_FOLDER.search(value):
        file.report(
            FOLDER,
            place,
            f"{name} names a folder of CUDA, which is not there or holds nothing for an NPU",
            subject=name,
            advice=_SET_ENV,
        )
