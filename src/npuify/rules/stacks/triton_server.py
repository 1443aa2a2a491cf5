"""Models of Triton Inference Server: what their config.pbtxt asks of NVIDIA's cards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.text_file import TextFile

_COMMENT = re.compile(rb"#[^\r\n]*")
_PLACES = (
    (
        re.compile(rb"\b(?:platform|backend)\s*:\s*(\"(?:tensorrt_plan|tensorrt|tensorrtllm|tensorrt_llm)\")"),
        "an engine of TensorRT has no counterpart on an NPU",
        (
            "serve language models with vllm serve and vllm-ascend, or MindIE; compile the ONNX file of other models "
            "with atc, and run it from a Python back end"
        ),
    ),
    (
        re.compile(rb"\bkind\s*:\s*(KIND_GPU)\b"),
        "Triton puts instances of a model on NVIDIA's cards only",
        "write KIND_CPU, and open the NPU in a Python back end",
    ),
    (
        re.compile(rb"(?<![\w])(gpus)\s*:\s*\["),
        "Triton counts NVIDIA's cards here",
        "leave it out; a Python back end chooses the NPU",
    ),
    (
        re.compile(rb"\b(gpu_execution_accelerator)\b"),
        "accelerators of ONNX Runtime and TensorFlow that Triton loads are CUDA's",
        "leave it out",
    ),
    (
        re.compile(rb"(?<![\w])(cuda)\s*:?\s*\{"),
        "graphs and copies of CUDA have no counterpart in Triton on an NPU",
        "leave it out",
    ),
)


@listed(
    "NPU977",
    "triton-server-model",
    Safety.MANUAL,
    example_file="models/resnet/config.pbtxt",
    evidence=Evidence.DOCUMENTED,
    source="triton-inference-server/common: protobuf/model_config.proto; no build of Triton for Ascend is published",
)
def MODEL(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A model of Triton Inference Server asks for NVIDIA's cards: no build of the server knows NPUs."""
    raise NotImplementedError


def judge_triton_model(file: TextFile) -> None:
    """Report what a config.pbtxt asks of NVIDIA's cards, at each place.

    Args:
        file: gets the findings.
    """
    data = _COMMENT.sub(lambda found: b" " * len(found[0]), file.data)
    for pattern, message, advice in _PLACES:
        for match in pattern.finditer(data):
            file.report(
                MODEL,
                match.span(1),
                message,
                subject=match[1].decode("utf-8", "replace").strip('"'),
                advice=advice,
            )
