"""Images that serve models with vLLM or SGLang: which image with NPUs stands for them, and how it is started."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase
from npuify.model import Evidence, Safety
from npuify.rules.text_file import listed
from npuify.source.shell import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.knowledge.frameworks.vllm import VllmChoice
    from npuify.model import Finding
    from npuify.rules.text_file import Replacement, TextFile
    from npuify.source.settings import Document, Value

SERVER = "vllm/vllm-openai"
PLUGIN_IMAGE = "quay.io/ascend/vllm-ascend"
_VLLM = re.compile(r"(?:(?:docker\.io|index\.docker\.io)/)?vllm/vllm-openai(?::(?P<tag>[^@\s]+))?(?:@\S+)?")
_VERSION = re.compile(r"v?(?P<version>\d+(?:\.\d+)*(?:\.post\d+|rc\d+)?)")
_FOR_OTHER_CHIPS = {"A3": "-a3", "310P": "-310p", "950": "-950dt"}


class _Other(NamedTuple):
    """An image that serves models on GPUs, and is not vLLM's."""

    message: str
    advice: str
    has_build: bool = False
    """Whether a build of the same server for NPUs can be had; without one, a container of it gets no NPUs."""


_OTHERS = {
    re.compile(r"lmcache/vllm-openai(?::\S*)?"): _Other(
        "LMCache's image of vLLM is built for CUDA",
        "use quay.io/ascend/vllm-ascend with LMCache-Ascend from source, and start it with vllm serve MODEL",
        has_build=True,
    ),
    re.compile(r"(?:docker\.io/)?lmsysorg/sglang(?::(?!.*(?:npu|cann))\S*)?"): _Other(
        "SGLang's own image is for CUDA",
        "use lmsysorg/sglang:VERSION-cann8.5.0-910b (or -a3), or build it with sgl-kernel-npu; --device npu",
        has_build=True,
    ),
    re.compile(r"nvcr\.io/nvidia/tritonserver:\S+"): _Other(
        "Triton Inference Server has no build for Ascend",
        "serve language models with vllm serve of quay.io/ascend/vllm-ascend or with MindIE; compile ONNX models with "
        "atc --framework=5 --soc_version=..., and run the .om files with ais_bench or pyACL; clients that speak HTTP "
        "or gRPC stay where the server speaks the same; npuify explain tritonserver lists the steps",
    ),
    re.compile(r"ghcr\.io/huggingface/text-(?:generation|embeddings)-inference\S*"): _Other(
        "text-generation-inference has no image for Ascend",
        "serve with vllm serve of quay.io/ascend/vllm-ascend, which speaks the API of OpenAI",
    ),
    re.compile(r"nvcr\.io/nvidia/tensorrt\S*"): _Other(
        "TensorRT has no build for Ascend",
        "convert ONNX with atc --framework=5 --soc_version=..., or leave TensorRT out and use torch_npu",
    ),
    re.compile(r"(?:docker\.io/)?kserve/huggingfaceserver(?::\S*gpu\S*)?"): _Other(
        "KServe's server of Hugging Face models is built for CUDA",
        "serve with vllm serve of quay.io/ascend/vllm-ascend, which speaks the API of OpenAI",
    ),
    re.compile(r"(?:docker\.io/)?(?:rayproject/ray-llm|anyscale/ray-llm)\S*"): _Other(
        "Ray's image for language models is built for CUDA",
        "build an image on quay.io/ascend/vllm-ascend with pip install ray[serve]",
        has_build=True,
    ),
    re.compile(r"(?:nvcr\.io|ghcr\.io)/nvidia/(?:jax|t5x|pax|maxtext)\S*"): _Other(
        "JAX has no build for Ascend",
        "take an image of Python: JAX computes on the CPU there; or port the model to PyTorch",
    ),
}
WITHOUT_BUILD = (
    "leave it until the image is replaced: no build of it for NPUs is there, and what serves in its place gets the NPUs"
)
"""What is said of the GPUs that a container asks for whose image is :func:`without_build`."""


def without_build(image: str) -> bool:
    """Whether an image is one of a server that has no build for NPUs: NPUs given to its container serve nobody."""
    return any(pattern.fullmatch(image) and not row.has_build for pattern, row in _OTHERS.items())


@listed(
    "NPU934",
    "serving-image",
    Safety.REVIEW,
    example_file="compose.yaml",
    evidence=Evidence.DOCUMENTED,
    source="vllm-ascend: docs/source/installation.md, Dockerfile, at 182b75ea84",
)
def SERVING(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A service starts an image that serves models on GPUs.

    vLLM's image starts the server by itself; that of vllm-ascend starts a shell, so that a command has to be given:
    ``vllm serve MODEL`` and the options, in front of which nothing stood before. Ports and probes stay. The image is
    that for Atlas A2, or for the chip that ``--soc`` names.

    Before::

        services:
          llm:
            image: vllm/vllm-openai:v0.18.0
            command: --model facebook/opt-125m --port 8000
            ports: ["8000:8000"]

    After::

        services:
          llm:
            image: quay.io/ascend/vllm-ascend:v0.18.0
            command: vllm serve facebook/opt-125m --port 8000
            ports: ["8000:8000"]
    """
    raise NotImplementedError


def is_vllm_image(image: str) -> bool:
    """Whether an image is vLLM's own, which serves models on GPUs."""
    return _VLLM.fullmatch(image) is not None


def npu_image(image: str, file: TextFile) -> tuple[VllmChoice, str]:
    """The image for NPUs in the place of vLLM's.

    Returns:
        The set that it belongs to, and the image; empty where no image is known for what is asked.
    """
    match = _VLLM.fullmatch(image)
    tag = (match["tag"] or "") if match is not None else ""
    return image_of_tag(tag, file)


def image_of_tag(tag: str, file: TextFile) -> tuple[VllmChoice, str]:
    """As :func:`npu_image`, for the tag of vLLM's image."""
    version = _VERSION.match(tag)
    choice = file.run.vllm.choice(f"=={version['version']}" if version is not None else "")
    known = not tag or version is not None or tag in ("latest", "nightly")
    if not known or not choice.fits or choice.row.status == "branch":
        return choice, ""
    return choice, f"{PLUGIN_IMAGE}:v{choice.row.plugin}{_FOR_OTHER_CHIPS.get(file.run.soc, '')}"


def judge_serving_image(
    image: str, place: tuple[int, int], file: TextFile, command: Sequence[Replacement | None] | None = None
) -> bool:
    """Report an image that serves models on GPUs.

    Args:
        image: the image.
        place: where it stands.
        file: gets the finding.
        command: the edits that write its command out, with None among them where that cannot be told; None where
            nobody knows how the image is started.

    Returns:
        Whether it is one.
    """
    if is_vllm_image(image):
        choice, new = npu_image(image, file)
        edits: list[Replacement | None] = [None]
        if new and command is not None and file.source(*place) == image:
            edits = [(*place, new), *command]
        report_image(image, place, choice, edits, file)
        return True
    for pattern, row in _OTHERS.items():
        if pattern.fullmatch(image):
            file.report(SERVING, place, row.message, subject=image.partition(":")[0], advice=row.advice)
            return True
    return False


def report_image(
    image: str, place: tuple[int, int], choice: VllmChoice, edits: Sequence[Replacement | None], file: TextFile
) -> None:
    """Report vLLM's own image."""
    row = choice.row
    named = f"{PLUGIN_IMAGE}:v{row.plugin}"
    file.report(
        SERVING,
        place,
        phrase("the image {image} is built for CUDA", image=image.replace(UNKNOWN, "…"))
        + ("" if choice.fits else f"; {choice.reason}"),
        edits=edits,
        evidence=row.evidence,
        subject=SERVER,
        advice=phrase(
            "use {named} (-a3 and -310p behind it for other chips than Atlas A2) and write the command out, for it "
            "starts a shell: vllm serve MODEL, then the same options",
            named=named,
        )
        if row.status != "branch"
        else phrase("vllm-ascend {plugin} is not released: build its image from source", plugin=row.plugin),
    )


def judge_repository(
    value: Value, document: Document, file: TextFile, command: Sequence[Replacement | None] = ()
) -> None:
    """Report vLLM's image where the values of a chart give its repository, its tag and its registry by themselves.

    Args:
        value: a setting called ``repository``.
        document: the file's settings.
        file: gets the finding.
        command: the edits that write its command out, with None among them where that cannot be told.
    """
    others = {one.key: one for one in document.values if one.table == value.table and one.path[:-1] == value.path[:-1]}
    registry, tag = others.get("registry"), others.get("tag")
    if not is_vllm_image(value.text) or ":" in value.text:
        if value.text == "lmcache/vllm-openai":
            judge_serving_image(value.text, (value.start, value.end), file)
        return
    choice, new = image_of_tag(tag.text if tag is not None else "", file)
    repository, _, version = new.rpartition(":")
    edits: list[Replacement | None] = [None]
    if new and (registry is None or registry.text == "docker.io") and tag is not None and tag.text:
        host, _, name = repository.partition("/")
        edits = [(value.start, value.end, name if registry is not None else repository)]
        edits += [(registry.start, registry.end, host)] if registry is not None else []
        edits += [(tag.start, tag.end, version), *command]
    report_image(
        f"{value.text}:{tag.text}" if tag is not None else value.text, (value.start, value.end), choice, edits, file
    )
