"""What an environment variable and its value become on Ascend: units, order and limits, not the name alone.

The facts are the rows of ``environment.toml``; here stands how a given value is translated by them.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.knowledge.frameworks.variables import variables_of
from npuify.knowledge.hand_written import environment
from npuify.language import commas, phrase
from npuify.model import Safety

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from npuify.knowledge.schema import EnvironmentFact


ONE_DEVICE = "ASCEND_DEVICE_ID"
"""The variable that gives a process of TensorFlow's its device; it takes one number, and no list."""


class Translation(NamedTuple):
    """What becomes of one assignment.

    ``name`` is the variable on Ascend, empty where none can be written. ``value`` is its value, None where it stays as
    it is written. ``problem`` says why nothing can be written, or what to look at; empty where there is nothing to say.
    """

    name: str
    value: str | None = None
    safety: Safety = Safety.SAFE
    problem: str = ""


def fact_of(name: str, framework: str = "") -> EnvironmentFact | None:
    """The row of a variable that means something else on Ascend; None for others, and for those that stay.

    Args:
        name: of the variable.
        framework: that reads it, as :func:`npuify.knowledge.frameworks.variables.framework_in` tells it.
    """
    fact = variables_of(framework).get(name) or environment().get(name)
    return fact if fact is not None and fact.action != "keep" else None


def renamed(name: str, framework: str = "") -> str:
    """The name under which Ascend knows a variable whose values mean the same; empty where there is none."""
    fact = fact_of(name, framework)
    return fact.npu if fact is not None and fact.action == "rename" and fact.npu is not None else ""


def translate(fact: EnvironmentFact, value: str | None) -> Translation:
    """What the variable of ``fact`` becomes when it is given ``value``.

    Args:
        fact: a row whose action is not ``keep``.
        value: the text that it is given; None where only the running program knows it.
    """
    npu = fact.npu or ""
    translator = _TRANSLATORS.get(fact.cuda)
    if npu == ONE_DEVICE:
        return _one_device(npu, value)
    if translator is not None and value is not None:
        return translator(npu, value)
    if fact.action == "rename":
        return Translation(npu)
    return Translation("")


def _visible(npu: str, value: str) -> Translation:
    """Numbers in ascending order; nothing else is understood, and an empty value hides all devices."""
    text = value.strip().strip(",")
    if text in ("", "-1"):
        return Translation(npu, None if value == "" else "")
    numbers = re.split(r"\s*,\s*", text)
    if not all(re.fullmatch(r"\d+", number) for number in numbers):
        return Translation(
            "",
            problem=phrase(
                "the value {value!r} has another form there: plain numbers are understood only", value=value
            ),
        )
    ordered = [str(number) for number in sorted({int(number) for number in numbers})]
    if ordered == numbers:
        return Translation(npu, None if value == text and ", " not in value else ",".join(numbers))
    return Translation(
        npu, ",".join(ordered), Safety.REVIEW, "device numbers must ascend there, so the order of the devices changes"
    )


def _one_device(npu: str, value: str | None) -> Translation:
    """One number; it has to be there before the device is opened, and scripts that start ranks set it themselves."""
    if value is None:
        return Translation(npu, None, Safety.REVIEW, "it takes one number and no list")
    if re.fullmatch(r"\s*\d+\s*", value):
        stripped = value.strip()
        return Translation(npu, None if stripped == value else stripped, Safety.REVIEW)
    if value.strip() in ("", "-1"):
        problem = "it hides all GPUs, so that the program runs on the CPU; no value of ASCEND_DEVICE_ID does that"
    elif "," in value:
        problem = phrase(
            "{value!r} names several devices, and a process has one NPU: start one process for each", value=value
        )
    else:
        problem = phrase("the value {value!r} is no number", value=value)
    return Translation("", problem=problem)


def _container(npu: str, value: str) -> Translation:
    """Numbers, lists and ranges; ``all`` has no counterpart."""
    if value in ("all", "void", "none", ""):
        return Translation(
            "", problem=phrase("the value {value!r} has no counterpart: name the devices, for example 0-7", value=value)
        )
    if re.fullmatch(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*", value):
        return Translation(npu)
    return Translation(
        "", problem=phrase("the value {value!r} has another form there: numbers and ranges such as 0-3,5", value=value)
    )


_ALLOCATOR_KEYS = (
    "max_split_size_mb",
    "garbage_collection_threshold",
    "expandable_segments",
    "roundup_power2_divisions",
)


def _allocator(npu: str, value: str) -> Translation:
    """Same grammar, fewer keys; a split size has to be above 20 MB."""
    kept: list[str] = []
    dropped: list[str] = []
    for part in re.findall(r"[^,\[\]]+(?:\[[^\]]*\])?", value):
        key, _, setting = part.strip().partition(":")
        small = key == "max_split_size_mb" and setting.strip().isdigit() and int(setting) <= 20
        (kept if key in _ALLOCATOR_KEYS and not small else dropped).append(part.strip())
    if not dropped:
        return Translation(npu)
    if not kept:
        return Translation(
            "", problem=phrase("{dropped} is not known there: leave the variable out", dropped=commas(dropped))
        )
    return Translation(
        npu, ",".join(kept), Safety.REVIEW, phrase("{dropped} is not known there", dropped=commas(dropped))
    )


def _flag(npu: str, value: str) -> Translation:
    """0 stays 0, the stricter levels of NCCL become 1."""
    if value in ("2", "3"):
        return Translation(npu, "1", Safety.REVIEW, phrase("the level {value} of NCCL is 1 there", value=value))
    return _known(npu, value, ("0", "1"))


def _xla(npu: str, value: str) -> Translation:
    """Flags for GPUs go: an XLA that does not know one ends the process; others stay, such as the number of devices."""
    flags = value.split()
    kept = [flag for flag in flags if not flag.startswith(("--xla_gpu_", "--xla_cuda_"))]
    if len(kept) == len(flags):
        return Translation("XLA_FLAGS")
    if kept:
        return Translation("XLA_FLAGS", " ".join(kept), Safety.REVIEW, "flags for GPUs are left out")
    return Translation("")


def _known(npu: str, value: str, values: tuple[str, ...]) -> Translation:
    if value in values:
        return Translation(npu)
    return Translation("", problem=phrase("the value {value!r} has no counterpart", value=value))


def _within(low: int, high: int, step: int = 1) -> Callable[[str, str], Translation]:
    """A number between limits; what lies beyond becomes the limit."""

    def translator(npu: str, value: str) -> Translation:
        if not value.strip().isdigit():
            return Translation(
                "",
                problem=phrase(
                    "the value {value!r} is no number from {low} to {high}", value=value, low=low, high=high
                ),
            )
        number = int(value)
        if number % step:
            return Translation("", problem=phrase("{value} is no multiple of {step}", value=value, step=step))
        inside = min(max(number, low), high)
        if inside == number:
            return Translation(npu)
        return Translation(
            npu, str(inside), Safety.REVIEW, phrase("values go from {low} to {high} there", low=low, high=high)
        )

    return translator


def _buffer(npu: str, value: str) -> Translation:
    """Bytes become megabytes, rounded up."""
    if not value.strip().isdigit() or int(value) == 0:
        return Translation("", problem=phrase("the value {value!r} is no number of bytes", value=value))
    megabytes = math.ceil(int(value) / 2**20)
    return Translation(
        npu,
        str(megabytes),
        Safety.REVIEW,
        phrase(
            "{value} bytes are {megabytes} MB; NCCL's is for a channel and HCCL's (200 unless set) for a communicator",
            value=value,
            megabytes=megabytes,
        ),
    )


def _debug(npu: str, value: str) -> Translation:
    level = value.strip().upper()
    if level == "INFO":
        return Translation("HCCL_ENTRY_LOG_ENABLE", "1", Safety.REVIEW, "HCCL writes to log files, one line a call")
    if level == "WARN":
        return Translation("ASCEND_GLOBAL_LOG_LEVEL", "2", Safety.REVIEW, "it is the level of all of CANN's logs")
    if level == "TRACE":
        return Translation("HCCL_DEBUG_CONFIG", "ALG,TASK,RESOURCE", Safety.REVIEW, "HCCL writes to log files")
    return Translation(
        "", problem=phrase("the level {value!r} has no counterpart: leave the variable out", value=value)
    )


_SUBSYSTEMS = {"COLL": ("ALG",), "GRAPH": ("ALG",), "NET": ("RESOURCE", "TASK"), "P2P": ("RESOURCE", "TASK")}


def _subsystems(npu: str, value: str) -> Translation:
    parts = [part.strip().upper() for part in value.split(",") if part.strip()]
    if not parts or any(part not in _SUBSYSTEMS for part in parts):
        return Translation(
            "", problem=phrase("of {value!r} not all has a counterpart: HCCL knows ALG, TASK and RESOURCE", value=value)
        )
    wanted = {module for part in parts for module in _SUBSYSTEMS[part]}
    text = ",".join(module for module in ("ALG", "TASK", "RESOURCE") if module in wanted)
    return Translation(npu, text, Safety.REVIEW, "HCCL's modules are cut in another way")


def _algorithm(npu: str, value: str) -> Translation:
    if value.strip().lower() == "ring":
        text = "level0:NA;level1:ring"
        return Translation(npu, text, Safety.REVIEW, "setting it switches HCCL's own choice off: better leave it out")
    return Translation(
        "",
        problem=phrase("{value} has no counterpart: leave the variable out, and HCCL chooses by itself", value=value),
    )


def _cache_mode(npu: str, value: str) -> Translation:
    if value == "1":
        return Translation(npu, "disable", Safety.REVIEW, "it concerns operators that CANN compiles just in time")
    return Translation("", problem="leave the variable out: the cache is on")


def _cache_folder(npu: str, value: str) -> Translation:
    return Translation(npu, None, Safety.REVIEW, "it concerns operators that CANN compiles just in time")


def _log_level(npu: str, value: str) -> Translation:
    if value == "1":
        return Translation(npu, "1", Safety.REVIEW, "it is the level of all of CANN's logs, written to files")
    return Translation("", problem="leave the variable out: errors are logged in any case")


def _reuse(npu: str, value: str) -> Translation:
    if value == "1":
        return Translation(npu, "1", Safety.REVIEW, "1 is the default there")
    return Translation("", problem="the values differ")


def _address(npu: str, value: str) -> Translation:
    match = re.fullmatch(r"(\d+(?:\.\d+){3}):\d+", value.strip())
    if match is None:
        return Translation("", problem=phrase("{value!r} is no address with a port", value=value))
    return Translation(npu, match.group(1), Safety.REVIEW, "it names the address of the very node it is set on")


def _jax(npu: str, value: str) -> Translation:
    """JAX has no plug-in for Ascend: what names a card becomes the CPU; npu is no word of its."""
    if re.search(r"(?i)\b(?:cuda|gpu|rocm|npu)\b", value):
        return Translation(npu, "cpu", Safety.REVIEW, "JAX runs on the CPU of an Ascend machine")
    return Translation(npu)


def _cmake(npu: str, value: str) -> Translation:
    """llama.cpp's back end for CUDA, by its names of three years, becomes that for CANN; other builds' stay."""
    changed = re.sub(r"-D(?:GGML|LLAMA)_(?:CUDA|CUBLAS)\b", "-DGGML_CANN", value)
    if changed == value:
        return Translation(npu)
    return Translation(npu, changed, Safety.REVIEW, "llama.cpp's back end for NPUs is GGML_CANN")


def _exchanged(old: str, new: str) -> Callable[[str, str], Translation]:
    """One value that an NPU does not take; the others stay."""

    def translator(npu: str, value: str) -> Translation:
        return Translation(npu, new, Safety.REVIEW) if value.strip() == old else Translation(npu)

    return translator


def _first_engine(npu: str, value: str) -> Translation:
    """1 asks for what there is; 0 asks for an engine that is gone."""
    if value.strip() != "0":
        return Translation(npu)
    return Translation("", problem="0 asks for an engine that vLLM has no more: 0.10 and 0.11 refuse to start")


def _second_runner(npu: str, value: str) -> Translation:
    if value.strip() in ("", "0"):
        return Translation(npu)
    return Translation("", problem="the plug-in's second model runner is not complete: write 0, or leave it out")


_PLUGINS = ("ascend", "ascend_kv_connector", "ascend_model_loader", "ascend_service_profiling", "ascend_model")


def _plugins(npu: str, value: str) -> Translation:
    """It lists all plug-ins that may be loaded: without those for NPUs vLLM finds no device."""
    named = [part.strip() for part in value.split(",") if part.strip()]
    if "ascend" in named:
        return Translation(npu)
    return Translation(npu, ",".join((*named, *_PLUGINS)), Safety.REVIEW, "without ascend in it, vLLM finds no NPU")


def _at_least(low: int) -> Callable[[str, str], Translation]:
    def translator(npu: str, value: str) -> Translation:
        if not value.strip().isdigit() or int(value) >= low:
            return Translation(npu)
        return Translation(npu, str(low), Safety.REVIEW)

    return translator


def stays(done: Translation, name: str) -> bool:
    """Whether a variable is on Ascend what it is here, name and value."""
    return done.name == name and done.value is None


_TRANSLATORS: Mapping[str, Callable[[str, str], Translation]] = {
    "XLA_FLAGS": _xla,
    "CUDA_VISIBLE_DEVICES": _visible,
    "JAX_PLATFORMS": _jax,
    "CMAKE_ARGS": _cmake,
    "JAX_PLATFORM_NAME": _jax,
    "VLLM_TARGET_DEVICE": _exchanged("cuda", "empty"),
    "VLLM_WORKER_MULTIPROC_METHOD": _exchanged("fork", "spawn"),
    "PADDLE_DISTRI_BACKEND": _exchanged("nccl", "xccl"),
    "VLLM_USE_V1": _first_engine,
    "VLLM_USE_V2_MODEL_RUNNER": _second_runner,
    "VLLM_PLUGINS": _plugins,
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": _at_least(1837),
    "NVIDIA_VISIBLE_DEVICES": _container,
    "PYTORCH_CUDA_ALLOC_CONF": _allocator,
    "CUDA_LAUNCH_BLOCKING": lambda npu, value: _known(npu, value, ("0", "1", "")),
    "NCCL_ASYNC_ERROR_HANDLING": _flag,
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": _flag,
    "NCCL_BLOCKING_WAIT": lambda npu, value: _known(npu, value, ("0", "1")),
    "TORCH_NCCL_BLOCKING_WAIT": lambda npu, value: _known(npu, value, ("0", "1")),
    "NCCL_SOCKET_FAMILY": lambda npu, value: _known(npu, value, ("AF_INET", "AF_INET6")),
    "NCCL_IB_TC": _within(0, 255, 4),
    "NCCL_IB_SL": _within(0, 7),
    "NCCL_IB_TIMEOUT": _within(5, 20),
    "NCCL_IB_RETRY_CNT": _within(1, 7),
    "NCCL_IB_QPS_PER_CONNECTION": _within(1, 32),
    "NCCL_BUFFSIZE": _buffer,
    "NCCL_DEBUG": _debug,
    "NCCL_DEBUG_SUBSYS": _subsystems,
    "NCCL_ALGO": _algorithm,
    "NCCL_COMM_ID": _address,
    "CUDA_CACHE_PATH": _cache_folder,
    "CUDA_CACHE_DISABLE": _cache_mode,
    "CUDNN_LOGINFO_DBG": _log_level,
    "CUBLAS_LOGINFO_DBG": _log_level,
    "TORCH_NCCL_AVOID_RECORD_STREAMS": _reuse,
}
"""How values are translated, by variable. A renamed variable that is not listed keeps its value.

NCCL_IB_TIMEOUT: 20 is the limit of A2 and A3; the first 910 takes 24.
"""
