"""The packages that decide how a project is moved: their names, and whether they are made for CUDA."""

from __future__ import annotations

from typing import Final, NamedTuple


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
