"""Containers that a shell starts with GPUs: docker, podman, Apptainer, and the options of Slurm's pyxis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.environment.containers import (
    ASCEND_RUNTIME,
    CONTAINER_NEEDS,
    DEVICES,
    MOUNTS,
    NVIDIA_PLACE,
    NVIDIA_RUNTIME,
    given_to_container,
    judge_image,
)
from npuify.rules.environment.serving_commands import in_front
from npuify.rules.environment.serving_images import (
    WITHOUT_BUILD,
    is_vllm_image,
    npu_image,
    report_image,
    without_build,
)
from npuify.rules.text_file import listed
from npuify.source.shell import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Finding
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.shell import Word


@listed(
    "NPU711",
    "gpus-given-to-container",
    Safety.REVIEW,
    evidence=Evidence.DOCUMENTED,
    source="vllm-ascend installation guide; Ascend mind-cluster documentation, Ascend Docker Runtime",
)
def CONTAINER(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A container is started with GPUs; for NPUs it needs their device files and the host's driver.

    Before::

        docker run --rm --gpus '"device=0,1"' image

    After::

        docker run --rm --device /dev/davinci0 --device /dev/davinci1 --device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro -v /usr/local/dcmi:/usr/local/dcmi:ro -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro -v /etc/ascend_install.info:/etc/ascend_install.info:ro image
    """  # noqa: E501 - one command
    raise NotImplementedError


_ENGINES = frozenset(("docker", "podman", "nvidia-docker", "nerdctl"))
_OTHER_ENGINES = frozenset(("apptainer", "singularity"))
_NAMING = frozenset(("--name", "--hostname", "-h", "-e", "--env", "--network", "--net", "-v", "--volume", "-w"))
"""Options of docker run whose value is no image, whatever it looks like."""


def judge_container(words: tuple[Word, ...], file: TextFile) -> None:
    """Report the GPUs and the images that a command gives to a container."""
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


def _container(words: tuple[Word, ...], file: TextFile) -> None:
    values = [word.value for word in words]
    has_gpus = any(value.split("=")[0] == "--gpus" for value in values)
    is_without = any(without_build(value) for value in values)
    for at, word in enumerate(words):
        value = word.value
        if value == "--gpus" and at + 1 < len(words):
            given, end = words[at + 1].value, words[at + 1].end
        elif value.startswith("--gpus="):
            given, end = value.removeprefix("--gpus="), word.end
        elif value in ("--runtime=nvidia", "nvidia") and (value != "nvidia" or words[at - 1].value == "--runtime"):
            span = word.span(len(value) - len("nvidia"), len(value))
            edit = (*span, "ascend") if span is not None else None
            if has_gpus:
                # The devices are given one by one, which needs no runtime.
                edit = _without(words[at - (value == "nvidia")], word, file)
            file.report(
                CONTAINER,
                (word.start, word.end),
                NVIDIA_RUNTIME,
                edits=[] if is_without else [edit],
                subject="--runtime",
                advice=WITHOUT_BUILD if is_without else ASCEND_RUNTIME,
            )
            continue
        else:
            place = NVIDIA_PLACE.search(value)
            if place is not None or value.rpartition("=")[0].endswith("nvidia.com/gpu"):
                shown = place.group() if place is not None else value
                file.report(
                    CONTAINER,
                    (word.start, word.end),
                    given_to_container(shown),
                    subject=shown,
                    advice=CONTAINER_NEEDS,
                )
            elif at and word.value == UNKNOWN and _by_variable(words, at, file):
                pass
            elif at and not value.startswith("-") and words[at - 1].value not in _NAMING:
                _image(word, file, _served(words, at, file))
            continue
        devices = "" if is_without else _devices(given)
        if file.kind == "unit" and "$(" in devices:
            devices = ""  # systemd runs no shell
        file.report(
            CONTAINER,
            (word.start, end),
            "--gpus gives a container NVIDIA's GPUs",
            edits=[(word.start, end, f"{devices} {MOUNTS}")] if devices else (),
            subject="--gpus",
            advice="" if devices else WITHOUT_BUILD if is_without else CONTAINER_NEEDS,
        )


def _image(word: Word, file: TextFile, command: Sequence[Replacement | None] | None = None) -> None:
    # enroot writes the registry before a hash sign.
    name = word.value.removeprefix("docker://").replace("#", "/", 1)
    span = word.span(0, len(word.value))
    judge_image(name, span if command is not None and span is not None else (word.start, word.end), file, command)


def _by_variable(words: tuple[Word, ...], at: int, file: TextFile) -> bool:
    """Report the image that a variable of the file holds, where it is vLLM's.

    Returns:
        Whether it is.
    """
    word = words[at]
    known = file.given.get(word.variables[0]) if len(word.variables) == 1 else None
    if known is None or not is_vllm_image(known.value) or words[at - 1].value in _NAMING:
        return False
    choice, new = npu_image(known.value, file)
    uses = len(re.findall(rb"\$\{?" + re.escape(word.variables[0].encode()) + rb"\b", file.data))
    command = in_front(words[at + 1 :], file.data) if words[1].value != "pull" else []
    # Another command with the same image would be left without the program that it has to start.
    edits = [*((*place, new) for place in known.places), *command] if new and uses == 1 else [None]
    report_image(known.value, (word.start, word.end), choice, edits, file)
    return True


def _served(words: tuple[Word, ...], at: int, file: TextFile) -> Sequence[Replacement | None] | None:
    """How the image at ``words[at]`` is started, where it is one that serves models."""
    if not is_vllm_image(words[at].value):
        return None
    if words[1].value == "pull" or any(word.value.partition("=")[0] == "--entrypoint" for word in words[:at]):
        return []
    return in_front(words[at + 1 :], file.data)


def _without(first: Word, last: Word, file: TextFile) -> Replacement | None:
    after = re.compile(rb"[ \t]+").match(file.data, last.end)
    return (first.start, after.end(), "") if after is not None else None


def _other_container(words: tuple[Word, ...], file: TextFile) -> None:
    """A container of Apptainer's, which was Singularity."""
    for word in words[1:]:
        if word.value in ("--nv", "--nvccli"):
            file.report(
                CONTAINER,
                (word.start, word.end),
                phrase("{value} gives a container NVIDIA's GPUs and driver", value=word.value),
                subject=word.value,
                advice="remove it; device files are available without it; bind the driver with --bind "
                "/usr/local/Ascend/driver,/usr/local/dcmi,/usr/local/bin/npu-smi,/etc/ascend_install.info",
            )
        elif word.value.startswith("docker://"):
            _image(word, file)


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
