"""Switches of torch.backends: most are harmless on an NPU, and some raise in a torch that is built without CUDA."""

from __future__ import annotations

import pytest

from ...harness import findings, output

RAISES = [
    "torch.backends.cuda.cufft_plan_cache.max_size = 32",
    "torch.backends.cuda.cufft_plan_cache[0].clear()",
    "print(torch.backends.cuda.cufft_plan_cache.size)",
    "torch.backends.cuda.preferred_linalg_library('magma')",
    "torch.backends.cuda.preferred_linalg_library(backend='cusolver')",
    "torch.backends.cuda.preferred_blas_library('cublaslt')",
]
HARMLESS = [
    "torch.backends.cudnn.benchmark = True",
    "torch.backends.cuda.preferred_linalg_library()",
    "torch.backends.cuda.preferred_linalg_library('default')",
    "torch.backends.cuda.preferred_blas_library('cublas')",
]


def severity(statement: str) -> list[str]:
    text = f"import torch\n{statement}\n"
    assert output(text, unsafe=True) == text
    return [finding.severity.value for finding in findings(text) if finding.code == "NPU140"]


@pytest.mark.parametrize("statement", RAISES)
def test_what_raises_without_cuda_is_an_error(statement: str) -> None:
    assert severity(statement) == ["error"]


@pytest.mark.parametrize("statement", HARMLESS)
def test_what_does_nothing_is_a_note(statement: str) -> None:
    assert severity(statement) == ["info"]


def test_a_library_that_is_not_known_here_is_a_warning() -> None:
    assert severity("torch.backends.cuda.preferred_linalg_library(name)") == ["warning"]
