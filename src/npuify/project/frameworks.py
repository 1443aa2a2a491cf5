"""The packages that decide how a project is moved, and the versions of them that it asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.model import Framework

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from npuify.project.files import ProjectFile
    from npuify.project.traces import Trace


class Known(NamedTuple):
    """A package: names of its distributions, and whether it is made for CUDA as published."""

    distributions: tuple[str, ...]
    cuda_only: bool = False


_NATIVE: Final = """
    accelerate colossalai composer dgl diffusers fairscale fairseq flax jax lightning mmcv:mmcv-full mmdet mmdet3d
    mmengine mmseg:mmsegmentation onnxruntime:onnxruntime-gpu paddle:paddlepaddle-gpu peft pytorch_lightning ray
    sentence_transformers sglang tensorflow:tensorflow-gpu timm torch torch_geometric torch_npu torchao torchaudio
    torchdata torchtext torchtitan torchtune torchvision transformers trl vllm deepspeed detectron2 horovod megatron
    faiss:faiss-gpu gptqmodel keras liger_kernel llamafactory mxnet torchrec
"""
_CUDA: Final = """
    apex auto_gptq awq:autoawq bitsandbytes causal_conv1d cupy fbgemm_gpu flash_attn flash_attn_interface flashinfer
    fla:flash-linear-attention grouped_gemm mamba_ssm numba.cuda:numba nvidia.dali:nvidia-dali nvtx pycuda
    pynvml:nvidia-ml-py pytorch3d spconv tensorrt torch2trt torch_tensorrt transformer_engine triton unsloth xformers
"""
"""Published for CUDA only; some have a form for Ascend of the same name, which has to be installed instead."""


def _table(words: str, *, cuda_only: bool) -> dict[str, Known]:
    table = {}
    for word in words.split():
        name, _, others = word.partition(":")
        own = () if "." in name else (name.replace("_", "-"),)
        table[name] = Known((*own, *others.split(",")) if others else own, cuda_only)
    return table


FRAMEWORKS: Final[dict[str, Known]] = {**_table(_NATIVE, cuda_only=False), **_table(_CUDA, cuda_only=True)}
"""By import name."""

_PINNED: Final = re.compile(
    r"""(?P<name>[A-Za-z][\w.-]*)["']?\s*(?:\[[^\]\n]*\])?\s*"""
    r"""(?:(?P<version>(?:[=<>~!]=?=?)\s*\d[\w.*+]*(?:\s*,\s*[=<>~!]=?\s*\d[\w.*+]*)*)"""
    r"""|=\s*["'](?P<poetry>[\^~=<>!]*\s*\d[^"'\n]*)["'])"""
)


def frameworks(traces: Mapping[str, Trace], requirements: Iterable[ProjectFile]) -> tuple[Framework, ...]:
    """The packages of ``FRAMEWORKS`` that the project imports, the most imported first.

    Args:
        traces: of the project's Python files, by relative path.
        requirements: files that may say which version is asked for; those that cannot be read are passed over.
    """
    count: dict[str, int] = {}
    first: dict[str, str] = {}
    for file, trace in traces.items():
        for name, line in trace.imports:
            count[name] = count.get(name, 0) + 1
            first.setdefault(name, f"{file}:{line}")
    if not count:
        return ()
    versions = _versions(requirements, set(count))
    found = []
    for name, files in sorted(count.items(), key=lambda item: (-item[1], item[0])):
        version, place = versions.get(name, ("", ""))
        found.append(Framework(name, files, first[name], version, place, FRAMEWORKS[name].cuda_only))
    return tuple(found)


def _versions(files: Iterable[ProjectFile], wanted: set[str]) -> dict[str, tuple[str, str]]:
    owners = {other: name for name in wanted for other in FRAMEWORKS[name].distributions}
    versions: dict[str, tuple[str, str]] = {}
    for file in files:
        try:
            text = file.path.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            code = line.split("#", 1)[0][:2000]
            for match in _PINNED.finditer(code):
                name = owners.get(re.sub(r"[-_.]+", "-", match["name"]).lower())
                if name and name not in versions:
                    said = match["version"] or match["poetry"]
                    versions[name] = ("".join(said.split()), f"{file.relative}:{number}")
    return versions
