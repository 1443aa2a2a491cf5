"""Images that serve models with vLLM or SGLang: which image with NPUs stands for them, and how it is started."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.text_file import TextFile

_VLLM = re.compile(r"(?:docker\.io/)?vllm/vllm-openai(?::v?(?P<version>\d[\w.]*|[\w.-]+))?(?:@\S+)?")
_OTHERS = {
    re.compile(r"(?:docker\.io/)?lmsysorg/sglang(?::(?!.*npu)\S*)?"): (
        "SGLang's own image is for CUDA",
        "build it from source with its NPU project file and sgl-kernel-npu; --device npu --attention-backend ascend",
    ),
    re.compile(r"nvcr\.io/nvidia/tritonserver:\S+"): (
        "Triton Inference Server has no build for Ascend",
        "serve with MindIE or vllm-ascend; clients that speak HTTP or gRPC stay where the server speaks the same",
    ),
    re.compile(r"ghcr\.io/huggingface/text-generation-inference\S*"): (
        "text-generation-inference has no image for Ascend",
        "serve with vllm serve of quay.io/ascend/vllm-ascend, which speaks the API of OpenAI",
    ),
    re.compile(r"nvcr\.io/nvidia/tensorrt\S*"): (
        "TensorRT has no build for Ascend",
        "convert ONNX with atc --framework=5 --soc_version=..., or leave TensorRT out and use torch_npu",
    ),
}


@listed(
    "NPU934",
    "serving-image",
    Safety.MANUAL,
    example_file="compose.yaml",
    evidence=Evidence.DOCUMENTED,
    source="vllm-ascend: docs/source/installation.md, Dockerfile, at 182b75ea84",
)
def SERVING(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A service starts an image that serves models on GPUs.

    vLLM's image starts the server by itself; that of vllm-ascend starts a shell, so that a command has to be given:
    ``vllm serve MODEL`` and the options, in front of which nothing stood before. Ports and probes stay.
    """
    raise NotImplementedError


def judge_serving_image(image: str, place: tuple[int, int], file: TextFile) -> bool:
    """Report an image that serves models on GPUs.

    Returns:
        Whether it is one.
    """
    match = _VLLM.fullmatch(image)
    if match is not None:
        version = match["version"] or ""
        choice = file.run.vllm.choice(f"=={version}" if version[:1].isdigit() else "")
        row = choice.row
        tag = f"quay.io/ascend/vllm-ascend:v{row.plugin}"
        file.report(
            SERVING,
            place,
            f"the image {image} is built for CUDA" + ("" if choice.fits else f"; {choice.reason}"),
            evidence=row.evidence,
            subject="vllm/vllm-openai",
            advice=f"use {tag} (-a3 and -310p behind it for other chips than Atlas A2) and write the command out, "
            "for it starts a shell: vllm serve MODEL, then the same options",
        )
        return True
    for pattern, (message, advice) in _OTHERS.items():
        if pattern.fullmatch(image):
            file.report(SERVING, place, message, subject=image.partition(":")[0], advice=advice)
            return True
    return False
