"""What a message says by the kind of its sentence and by who raised it, where no table knows its words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.knowledge.failures.causes import causes
from npuify.knowledge.failures.sentences import sentences_known
from npuify.language import phrase, sentences
from npuify.model import Evidence

from .refusals import AT_WORK
from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.diagnosis.model import Frame
    from npuify.knowledge.failures.sentences import Sentence

SAYS_LITTLE: Final = 36
"""The most that a kind of exception weighs which is raised for many reasons."""

_EXCEPTION: Final = re.compile(
    r"^(?:\w+:)?\s*(?:[A-Za-z_]\w*\.)*(?P<kind>[A-Za-z_]\w*)(?::\s*(?P<said>\S.*))?$", re.DOTALL
)
_SAY_MORE: Final = re.compile(
    r"(?:Key|Index|Attribute|Name|ModuleNotFound|ZeroDivision|UnboundLocal|Recursion|Syntax|Indentation|Tab|Import|Reference"
    r"|Unicode\w*|Overflow|FloatingPoint|FileNotFound|Permission|FileExists|BrokenPipe|JSONDecode|Type)Error"
    r"|StopIteration|KeyboardInterrupt|SystemExit|GeneratorExit|EOFError|\w+Warning"
)
"""Kinds that Python raises by itself, whose words say what they mean."""
_PACKAGES: Final = {
    "torch_npu": "torch_npu",
    "torchair": "torchair",
    "npugraph_ex": "torch_npu",
    "mindspeed": "MindSpeed",
    "mindspeed_llm": "MindSpeed-LLM",
    "mindspeed_mm": "MindSpeed-MM",
    "mindspeed_rl": "MindSpeed-RL",
    "modellink": "ModelLink",
    "ascendspeed": "AscendSpeed",
    "vllm_ascend": "vLLM-Ascend",
    "sgl_kernel_npu": "sgl-kernel-npu",
    "mindie_llm": "MindIE",
    "mindiesd": "MindIE-SD",
    "mindietorch": "MindIE-Torch",
    "mindie_turbo": "MindIE-Turbo",
    "atb_llm": "MindIE",
    "msprobe": "msprobe",
    "msmodelslim": "msModelSlim",
    "mx_driving": "DrivingSDK",
    "ads": "DrivingSDK",
    "npu_bridge": "the TensorFlow adapter",
    "npu_device": "the TensorFlow adapter",
    "paddle_custom_device": "PaddlePaddle's NPU plug-in",
    "auto_tune": "CANN",
    "tbe": "CANN",
    "te": "CANN",
    "hccl": "CANN",
    "acl": "CANN",
    "ais_bench": "ais_bench",
    "mspti": "CANN",
    "triton_ascend": "triton-ascend",
}
"""Packages made for NPUs, by their modules, and what they are called."""
_MODULE: Final = re.compile(r"(?:^|/)(?P<module>[A-Za-z_]\w*)/(?:[\w.-]+/)*[\w.-]+\.py$")
_TRITON: Final = re.compile(r"/triton/backends/(?:ascend|huawei|npu)/")
_INSTALLED: Final = re.compile(r"/(?:site|dist)-packages/(?P<module>\w+)")


def sentence_match(text: str, frames: Sequence[Frame]) -> Match | None:
    """What an exception says by its sentence; None where no row reads it.

    Args:
        text: the line of the exception.
        frames: the traceback's frames; may be empty.
    """
    found = _EXCEPTION.match(text.strip())
    if found is None or _SAY_MORE.fullmatch(found["kind"]):
        return None
    file = frames[-1].file.replace("\\", "/") if frames else ""
    package = package_for_npus(file)
    installed = _INSTALLED.search(file) if not frames or frames[-1].function not in AT_WORK else None
    given = {"", "installed", "npu"} if package else {"", "installed"} if installed is not None else {""}
    row = _row(found["kind"], found["said"] or "", given)
    return None if row is None else _match(row, package or (installed["module"] if installed is not None else ""))


def sentence_of_line(text: str) -> Sentence | None:
    """The row that reads a single line of which nothing else is known; None where there is none.

    Args:
        text: the line, without its head.
    """
    return _row("", text, {"", "line"})


def package_for_npus(file: str) -> str:
    """What the package is called that a file of a traceback belongs to, if it is one made for NPUs; else empty.

    Args:
        file: with / between folders.
    """
    if _TRITON.search(file):
        return "triton-ascend"
    parts = file.split("/")
    return next((_PACKAGES[part] for part in reversed(parts[:-1]) if part in _PACKAGES), "")


def _row(kind: str, said: str, raised: set[str]) -> Sentence | None:
    return next(
        (
            one.row
            for one in sentences_known()
            if one.row.raised in raised and (said or one.pattern is None) and one.reads(kind, said)
        ),
        None,
    )


def _match(row: Sentence, package: str) -> Match:
    why = row.why or causes()[row.cause].why
    if package:
        why = sentences(phrase("{package} raised it.", package=package), phrase(why))
    return Match(
        name=row.name,
        meaning=why,
        cause=row.cause,
        role="cause",
        weight=row.weight,
        evidence=Evidence.ASSUMED,
        source="how packages word such messages: their sources",
        why=why,
        fix=row.fix,
    )
