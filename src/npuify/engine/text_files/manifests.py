"""Compose files, Kubernetes manifests and workflows: what they ask of a machine, and the scripts in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.analysis.flow.device_names import DEVICE_NAME
from npuify.engine.text_files.containers import Containers, image_of
from npuify.engine.text_files.script import judge_script
from npuify.language import phrase
from npuify.model import Severity
from npuify.rules.environment.chart_cards import judge_cards_of_chart
from npuify.rules.environment.compose_devices import npus_of_service
from npuify.rules.environment.containers import (
    ASCEND_RUNTIME,
    CLUSTER,
    COMPOSE,
    CONTAINER_NEEDS,
    NVIDIA_PLACE,
    NVIDIA_RUNTIME,
    RUNNER,
    given_to_container,
    judge_image,
)
from npuify.rules.environment.options import counterpart, judge_pair, pairs
from npuify.rules.environment.serving_commands import chart_command, service_of, written_out
from npuify.rules.environment.serving_images import WITHOUT_BUILD, is_vllm_image, judge_repository
from npuify.rules.environment.settings import DEVICE, judge_option
from npuify.rules.environment.shell_commands import NVIDIA_COMMAND, judge_command
from npuify.rules.stacks.options import judge_stack_options, stack_of
from npuify.rules.vllm.options import judge_vllm_options, options_of_vllm
from npuify.source.shell import Command, Word

if TYPE_CHECKING:
    from npuify.rules.program_options import ProgramOptions
    from npuify.rules.text_file import TextFile
    from npuify.source.settings import Document, Value

_WORKFLOW = re.compile(
    r"(?:^|/)\.github/(?:workflows|actions)/|(?:^|/)(?:\.gitlab-ci|azure-pipelines)[\w.-]*\.ya?ml$|(?:^|/)\.circleci/"
)
_SCRIPT_KEYS = frozenset(
    (
        *("run", "script", "before_script", "after_script", "command", "entrypoint", "cmd", "setup"),
        *("oncreatecommand", "postcreatecommand", "poststartcommand", "updatecontentcommand"),
    )
)
_ALWAYS_SCRIPTS = frozenset(("run", "script", "before_script", "after_script"))
_COMMAND = re.compile(
    r"(?:^|[;&|\n])\s*(?:[A-Z_][A-Z0-9_]*=\S*\s+)*(?:\S*/)?(?:python[\d.]*|torchrun|bash|sh|export|nvidia-smi|accelerate"
    r"|deepspeed|mpirun|source|cd|pip3?|set|exec|srun|vllm|uv)\s+\S"
)
"""A command of a shell among the arguments of a container, which is what stands behind ``bash -c``."""
_ARGUMENT_KEYS = frozenset(("args", "command", "cmd", "entrypoint", "arguments", "options", "runargs"))
_SERVER_ARGUMENTS = frozenset(
    ("extraargs", "extra_args", "vllm_args", "vllmargs", "engine_args", "server_args", "additional_args", "cli_args")
)
"""Keys of the values of charts whose lists are given to vLLM's server."""
_OPTION_KEYS = frozenset(("options", "runArgs", "args", "arguments"))
"""Keys of lists that begin with no command."""
_MOUNTED = frozenset(("devices", "volumes", "path", "hostpath", "source", "device"))
"""Keys under which a container is given files of the host."""
_GPU_RUNNER = re.compile(
    r"(?i)(?:^|[^a-z])(?:gpus?|cuda\d*|cu1\d\d|nvidia|[avhltpb](?:4|10|10g|40|100|200|300)|gb200|rtx\w*|dgx\w*)(?:$|[^a-z])"
)
_IMAGE_KEYS = frozenset(
    ("image", "base_image", "docker_image", "container", "container_image", "runner_image", "image_id", "imagename")
)
_EXPRESSION = re.compile(rb"\$\{\{.*?\}\}", re.DOTALL)
_GPUS_OPTION = re.compile(r"--gpus(?:=|\s+)\S+|--runtime(?:=|\s+)nvidia\b")
_RESOURCE = "nvidia.com/gpu"
_NPU_RESOURCE = "huawei.com/Ascend910"


def is_workflow(relative: str) -> bool:
    """Whether a file describes jobs of a continuous integration."""
    return _WORKFLOW.search(relative) is not None


def judge_manifest(document: Document, file: TextFile, options: ProgramOptions) -> None:
    """Report what a file of settings asks of containers, clusters and runners, and what its scripts do."""
    shell = _EXPRESSION.sub(_unknown, file.data)
    workflow = is_workflow(file.relative)
    lists: dict[int, list[Value]] = {}
    labelled: set[int] = set()
    containers = Containers(document, file.data)
    for value in document.values:
        key = value.key.lower().replace("-", "_")
        is_served = key in _SERVER_ARGUMENTS and file.framework == "vLLM"
        if value.path[-1:] == ("#",) and (
            key in _ARGUMENT_KEYS or is_served or (key == "test" and "healthcheck" in value.path)
        ):
            lists.setdefault(value.table, []).append(value)
        if (key in _SCRIPT_KEYS and (key in _ALWAYS_SCRIPTS or re.search(r"\s|^nvidia-smi$", value.text))) or (
            key in ("args", "arguments") and _COMMAND.search(value.text)
        ):
            # Escapes would move what stands behind them.
            if "\\" not in value.text or value.quote != '"':
                of_server = containers.serves_vllm(value.path[:-1], value.start)
                judge_script(shell, value.start, value.end, file, options, of_vllm=of_server)
        elif key in _IMAGE_KEYS:
            image, place = image_of(value)
            command = written_out(service_of(value, document, file.data), file.data) if is_vllm_image(image) else None
            judge_image(image, place, file, command)
        elif key == "repository":
            judge_repository(value, document, file, chart_command(value, document, file.data))
        _judge_request(value, key, document, file, labelled, containers, is_workflow=workflow)
    _judge_reservations(document, file, containers)
    containers.add_commands(lists.values())
    for values in lists.values():
        words = [_word(value) for value in values]
        program = options.program([word.value for word in words], file.relative.rpartition("/")[0])
        holder = values[0].path[:-2]
        is_given = (
            containers.serves_vllm(holder, values[0].start)
            or values[0].key.lower().replace("-", "_") in _SERVER_ARGUMENTS
        )
        of_vllm = words if is_given else options_of_vllm(words)
        if of_vllm:
            judge_vllm_options(of_vllm, file.data, file, are_items=True)
        judged = judge_stack_options(*stack_of(words, file), file)
        for pair in () if of_vllm else pairs(words):
            if pair.value.end in judged:
                continue
            judge_pair(pair, program, options, file)
            judge_option(pair, file)
        if words[0].value in ("CMD", "CMD-SHELL"):
            words = words[1:]
        for value in values:
            if value.text == "--gpus" or _GPUS_OPTION.fullmatch(value.text):
                _report_gpus(value, value.text, file)
        if words and values[0].key not in _OPTION_KEYS:
            judge_command(Command(tuple(words), words[0].start, words[-1].end, False), file)
    _judge_resources(document, file, containers)
    judge_cards_of_chart(document, file)
    for value in document.values:
        _judge_key(value.path, value.key_start, value.key_end, value, file)
    for one in document.keys:
        _judge_key(one.path, one.start, one.end, None, file)


def _unknown(match: re.Match[bytes]) -> bytes:
    """Something of the same length whose value a shell cannot tell."""
    text = match.group()
    return b"${" + re.sub(rb"[^\r\n]", b"x", text[2:-1]) + b"}"


def _word(value: Value) -> Word:
    if not value.text.isascii() or "\\" in value.text or len(value.text) != value.end - value.start:
        return Word("", (), (), value.start, value.end)
    places = range(value.start, value.end)
    return Word(value.text, tuple(places), tuple(place + 1 for place in places), value.start, value.end, (), True)


def _report_gpus(value: Value, option: str, file: TextFile) -> None:
    file.report(
        COMPOSE,
        (value.start, value.end),
        phrase("{option} gives a container NVIDIA's GPUs", option=option),
        subject="--gpus",
        advice=CONTAINER_NEEDS,
    )


def _judge_action(value: Value, file: TextFile) -> None:
    """Report an action of GitHub's that installs CUDA, or an image that is one."""
    if value.text.startswith("docker://"):
        judge_image(value.text.removeprefix("docker://"), (value.start, value.end), file)
    elif re.search(r"(?i)/(?:[\w-]*-)?cuda(?:-[\w-]*)?@", value.text):
        file.report(
            NVIDIA_COMMAND,
            (value.start, value.end),
            phrase("the action {partition} installs CUDA", partition=value.text.partition("@")[0]),
            subject=value.text.partition("@")[0],
            advice=phrase("leave it out, and run the job in an image of quay.io/ascend/cann"),
        )


def _names_runner(value: Value, key: str, relative: str) -> bool:
    """Whether a value is a label of the machine that a job runs on."""
    if "matrix" in value.path and key == "os":
        return True
    if key == "labels":
        return "runs-on" in value.path
    if key == "tags":
        return "gitlab" in relative
    return key in ("runs_on", "runner", "selected_runner", "resource_class")


def _judge_reservations(document: Document, file: TextFile, containers: Containers) -> None:
    """Report NVIDIA's devices that a service of compose reserves: by their driver, or by what they can do alone."""
    drivers: list[Value] = []
    able: list[Value] = []
    for value in document.values:
        if "devices" in value.path and value.key.lower() == "driver":
            drivers.append(value)
        elif value.path[-3:] == ("#", "capabilities", "#") and "devices" in value.path and value.text == "gpu":
            able.append(value)
    for one in drivers:
        if one.text == "nvidia":
            beside = next((other for other in able if _is_beside(one, other, able)), one)
            place = min(one.start, beside.start), max(one.end, beside.end)
            _report_reservation(place, one.path, document, file, containers)
    for other in able:
        if not any(_is_beside(one, other, able) for one in drivers):
            _report_reservation((other.start, other.end), other.path, document, file, containers)


def _is_beside(driver: Value, capability: Value, able: list[Value]) -> bool:
    """Whether two values belong to one device: tables are numbered in their order, those inside another behind it."""
    return (
        driver.path[:-1] == capability.path[:-2]
        and driver.table < capability.table
        and not any(driver.table < one.table < capability.table for one in able)
    )


def _report_reservation(
    place: tuple[int, int], path: tuple[str, ...], document: Document, file: TextFile, containers: Containers
) -> None:
    is_without = containers.lacks_build(path, place[0])
    file.report(
        COMPOSE,
        place,
        phrase("the reservation of NVIDIA's devices has no counterpart in compose"),
        edits=() if is_without else npus_of_service(path, document, file),
        subject="deploy.resources.reservations.devices",
        advice=WITHOUT_BUILD
        if is_without
        else phrase("take the reservation out, and list devices and volumes of the service: ")
        + phrase(CONTAINER_NEEDS),
    )


def _judge_request(
    value: Value,
    key: str,
    document: Document,
    file: TextFile,
    seen: set[int],
    containers: Containers,
    *,
    is_workflow: bool,
) -> None:
    place = (value.start, value.end)
    is_without = containers.lacks_build(value.path, value.start)
    if key == "runtime" and value.text == "nvidia":
        file.report(
            COMPOSE,
            place,
            NVIDIA_RUNTIME,
            edits=() if is_without else [(*place, "ascend")],
            subject="runtime",
            advice=WITHOUT_BUILD if is_without else ASCEND_RUNTIME,
        )
    elif key in _MOUNTED and (match := NVIDIA_PLACE.match(value.text)) is not None and _gives(value):
        file.report(
            COMPOSE if "services" in value.path else CLUSTER,
            place,
            given_to_container(match.group()),
            subject=match.group(),
            advice=CONTAINER_NEEDS,
        )
    elif key == "gpus" and "services" in value.path:
        file.report(
            COMPOSE,
            place,
            phrase("gpus gives a service NVIDIA's GPUs"),
            edits=() if is_without else npus_of_service(value.path, document, file),
            subject="gpus",
            advice=WITHOUT_BUILD if is_without else CONTAINER_NEEDS,
        )
    elif key in ("options", "docker_options", "runargs") and (match := _GPUS_OPTION.search(value.text)) is not None:
        _report_gpus(value, match.group(), file)
    elif key == "runtimeclassname" and value.text == "nvidia":
        file.report(
            CLUSTER,
            place,
            phrase("the runtime class nvidia is for GPUs"),
            subject="runtimeClassName",
            advice=phrase(
                "leave it out where the Ascend Docker Runtime is the nodes' default, else name the cluster's class"
            ),
        )
    elif is_workflow:
        _judge_workflow_value(value, key, file, seen)


def _judge_workflow_value(value: Value, key: str, file: TextFile, seen: set[int]) -> None:
    place = (value.start, value.end)
    if key == "uses":
        _judge_action(value, file)
    elif "matrix" in value.path and counterpart(value.text) and DEVICE_NAME.search(key):
        file.report(
            DEVICE,
            place,
            phrase("jobs are run for the device {text}", text=value.text),
            severity=Severity.WARNING,
            subject="cuda",
            advice=phrase(
                "write {counterpart} where the jobs hand it to a program of this project",
                counterpart=counterpart(value.text),
            ),
        )
    elif _names_runner(value, key, file.relative):
        if _GPU_RUNNER.search(value.text) and value.table not in seen:
            if value.path[-1:] == ("#",):
                # One word for all the labels of a list.
                seen.add(value.table)
            file.report(
                RUNNER,
                place,
                phrase("the label {text} is of a machine with GPUs", text=value.text),
                subject="runs-on",
                advice=phrase(
                    "give the label of a runner with NPUs; ascend-gha-runners gives out some to open projects"
                ),
            )


def _gives(value: Value) -> bool:
    """Whether a path is one that a service or a pod is given, not one that a program is told of."""
    return "services" in value.path or "hostPath" in value.path


def _is_resource(path: tuple[str, ...]) -> bool:
    return path[-1:] == (_RESOURCE,) and path[-2:-1] in (("limits",), ("requests",))


def _judge_resources(document: Document, file: TextFile, containers: Containers) -> None:
    """Requests and limits of the same containers, which must be equal, change together."""
    groups: dict[tuple[tuple[str, ...], bool], list[Value]] = {}
    for value in document.values:
        if _is_resource(value.path):
            is_without = containers.lacks_build(value.path, value.start)
            groups.setdefault((value.path[:-2], is_without), []).append(value)
    for (_, is_without), values in groups.items():
        first = values[0]
        counts = {int(value.text) for value in values if value.text.isdigit()}
        unusual = sorted(counts - {0, 1, 2, 4, 8, 16})
        file.report(
            CLUSTER,
            (first.key_start, first.key_end),
            phrase(
                "{RESOURCE} is the resource of NVIDIA's device plugin; that of Ascend's is {NPU_RESOURCE}",
                RESOURCE=_RESOURCE,
                NPU_RESOURCE=_NPU_RESOURCE,
            ),
            edits=() if is_without else [(value.key_start, value.key_end, _NPU_RESOURCE) for value in values],
            subject=_RESOURCE,
            advice=WITHOUT_BUILD
            if is_without
            else phrase("huawei.com/Ascend310P for the 310P, huawei.com/npu for the 950")
            + (
                phrase("; the scheduler for Ascend may refuse {unusual}: take 1, 2, 4 or 8 a node", unusual=unusual[0])
                if unusual
                else ""
            ),
        )


def _judge_key(path: tuple[str, ...], start: int, end: int, value: Value | None, file: TextFile) -> None:
    if not end or not path:
        return
    key = path[-1]
    if _is_resource(path):
        return
    if key.startswith("nvidia.com/") or key in ("cloud.google.com/gke-accelerator",):
        file.report(
            CLUSTER,
            (start, end),
            phrase("{key} is a label or resource of nodes with GPUs", key=key),
            subject=key,
            advice=phrase("nodes with NPUs have labels such as accelerator: huawei-Ascend910, and the resource ")
            + _NPU_RESOURCE,
        )
    elif value is not None and key == "key" and value.text.startswith("nvidia.com/"):
        file.report(
            CLUSTER,
            (value.start, value.end),
            phrase("{text} is a label or taint of nodes with GPUs", text=value.text),
            subject=value.text,
            advice=phrase("name the taint that the cluster's nodes with NPUs have, or leave it out"),
        )
