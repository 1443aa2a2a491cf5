"""How hard an operator of a project's extension is to do without CUDA, and the ways to do it."""

from __future__ import annotations

from typing import Final

from npuify.language import phrase

LIBRARIES: Final = frozenset(
    ("CUDA runtime", "cuBLAS", "cuDNN", "cuSPARSE", "cuSOLVER", "cuFFT", "cuRAND", "NCCL", "CUB", "Thrust")
)
"""Marks of code that calls CUDA's libraries."""


def difficulty_of(kernels: tuple[str, ...], uses: tuple[str, ...]) -> str:
    """How hard an operator is to write anew: ``host`` where nothing of it runs on a GPU.

    Args:
        kernels: the names of the kernels that it reaches.
        uses: the marks of the functions that it reaches.
    """
    marks = set(uses)
    if marks & {"tensor core", "assembly"}:
        return "tensor core"
    if marks & {"shared", "warp"}:
        return "cooperative"
    if marks & LIBRARIES:
        return "library"
    if kernels:
        return "elementwise"
    return "host"


def ways_of_replacement(name: str, replacement: str, differs: str) -> tuple[str, ...]:
    """What can be done with npuify's replacements.

    Args:
        name: the operator's.
        replacement: what is proven to compute the same; empty where nothing is.
        differs: where operators of this name are replaced and it is not: ``code`` or ``launch``.
    """
    if replacement:
        return (
            phrase(
                "let --replace-kernels put {replacement}, which is proven to compute the same, in its place",
                replacement=replacement,
            ),
        )
    if differs == "launch":
        return (
            phrase(
                "compare it with npuify's replacements of {name}: its code is that of a copy that was proven, but its "
                "kernels are launched otherwise, and may not cover all",
                name=name,
            ),
        )
    if differs:
        return (
            phrase(
                "compare it with npuify's replacements of {name}: its code differs from all copies that were proven",
                name=name,
            ),
        )
    return ()


def ways_without_cuda(
    difficulty: str, equivalent: str, *, has_cpu: bool, has_npu: bool, is_called: bool
) -> tuple[str, ...]:
    """What can be done by hand, the least work first; nothing where nothing runs on a GPU.

    Args:
        difficulty: what ``difficulty_of`` says, or ``unknown``.
        equivalent: a function for the NPU that does the same; empty where none is known.
        has_cpu: whether the project has an implementation for the CPU.
        has_npu: whether it has one for the NPU.
        is_called: whether Python code of the project calls it, as far as that is known.
    """
    if difficulty == "host":
        return ()
    ways = []
    if has_npu:
        ways.append("build the project's own implementation for the NPU")
    if equivalent:
        ways.append(phrase("call {name}", name=equivalent))
    if not is_called:
        ways.append("skip the build: no Python code of the project was found to call it")
    if has_cpu:
        ways.append("run the project's CPU implementation: --cpu-fallback adds the copies around the calls")
    if difficulty in ("elementwise", "cooperative", "unknown"):
        ways.append("write it in PyTorch, or as a Triton kernel for triton-ascend")
    ways.append("write it in Ascend C, built with torch_npu.utils.cpp_extension.NpuExtension")
    if not has_cpu:
        ways.append("write a CPU version and let --cpu-fallback move the tensors, if speed does not matter")
    return tuple(ways)
