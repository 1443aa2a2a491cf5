"""Functions of torch on the sample inputs of PyTorch's own operator database, against the CPU."""

from __future__ import annotations

import sys
import types
import warnings
from functools import cache
from typing import Any

from npuify.selftest.inside.agree import difference, tensors
from npuify.selftest.inside.ask import CannotAsk, is_simulated, kernels_missing

_DTYPES = ("float32", "float16", "bfloat16", "int64", "bool")
_SAMPLES = 2
"""Of each type."""
_LARGEST = 20_000
"""Elements of a sample's input; larger ones say no more."""
_NO_VALUES = frozenset(
    "empty empty_like new_empty empty_strided new_empty_strided empty_permuted resize_ rand_like randn_like randint "
    "randint_like randn normal bernoulli multinomial nn.functional.dropout nn.functional.dropout2d "
    "nn.functional.dropout3d nn.functional.alpha_dropout nn.functional.feature_alpha_dropout nn.functional.rrelu "
    "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d pca_lowrank svd_lowrank "
    "nn.functional.scaled_dot_product_attention nn.functional.multi_head_attention_forward".split()
)
"""Functions whose values are random or mean nothing: only shapes are compared."""
_NOT_UNIQUE = frozenset(
    "linalg.eig linalg.eigh linalg.svd svd linalg.qr qr geqrf linalg.householder_product lu linalg.lu linalg.lu_factor "
    "linalg.lu_factor_ex linalg.ldl_factor linalg.ldl_factor_ex sort argsort topk mode median nanmedian kthvalue "
    "linalg.lstsq msort linalg.eigvals".split()
)
"""Functions with several right answers: only shapes are compared."""
_SIMULATED_OTHERWISE = frozenset({"tensor_split", "double", "float_power", "cdouble", "to_sparse", "sparse.mm.reduce"})
"""float64 becomes float32 in the simulator, sparse layouts it has in parts."""


@cache
def _database() -> dict[str, list[Any]]:
    try:
        import expecttest  # noqa: F401
    except ImportError:
        # torch's database asks for it; only its own tests use it.
        stand_in: Any = types.ModuleType("expecttest")
        stand_in.TestCase = __import__("unittest").TestCase
        sys.modules["expecttest"] = stand_in
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        raise CannotAsk(f"torch's operator database cannot be imported: {type(error).__name__}") from None
    found: dict[str, list[Any]] = {}
    for one in op_db:
        found.setdefault(one.name, []).append(one)
    return found


def disagreements(function: str) -> dict[str, str]:
    """Type → what is wrong with the results, or with the gradients of float32; types that agree are left out.

    Args:
        function: without ``torch.``, as the database has it.
    """
    entries = _database().get(function)
    if not entries:
        raise CannotAsk("torch's operator database has no samples")
    if function in _SIMULATED_OTHERWISE and is_simulated():
        raise CannotAsk("simulated otherwise")
    import torch

    half = ("bfloat16",) if not torch.npu.is_bf16_supported() else ()
    found, asked = dict[str, str](), 0
    warnings.simplefilter("ignore")
    for entry in entries:
        for dtype in (one for one in _DTYPES if one not in half):
            kind = getattr(torch, dtype)
            if kind not in entry.dtypes:
                continue
            for wrong in _one_type(entry, kind, function):
                asked += 1
                if wrong and dtype not in found:
                    found[dtype] = wrong
    if not asked:
        raise CannotAsk("no sample runs on the CPU")
    return found


def _one_type(entry: Any, dtype: Any, function: str) -> list[str]:
    import torch

    wants = bool(entry.supports_autograd and dtype is torch.float32)
    answers: list[str] = []
    try:
        samples = iter(entry.sample_inputs("cpu", dtype, requires_grad=wants))
    except Exception:
        return []
    for _ in range(_SAMPLES):
        try:
            sample = next(samples)
            if sum(one.numel() for one in tensors((sample.input, sample.args))) > _LARGEST:
                continue
            expected = _run(entry, sample, "cpu", wants)
        except StopIteration:
            break
        except Exception:  # a sample that the CPU cannot do says nothing
            continue
        try:
            actual = _run(entry, sample, "npu", wants)
        except Exception as error:
            if kernels_missing(error):
                raise CannotAsk("there is no kernel here") from None
            answers.append(f"raises {type(error).__name__}")
            continue
        if function in _NO_VALUES or function in _NOT_UNIQUE:
            same = [one.shape for one in actual] == [one.shape for one in expected]
            answers.append("" if same else "another shape")
        else:
            answers.append(difference(actual, expected))
    return answers


def _run(entry: Any, sample: Any, device: str, wants: bool) -> list[Any]:
    """Results, and gradients where those are wanted, on the CPU."""
    import torch

    given = _moved((sample.input, sample.args, sample.kwargs), device)
    torch.manual_seed(7)
    results = tensors(entry(given[0], *given[1], **given[2]))
    if sample.output_process_fn_grad is not None and wants:
        results = tensors(sample.output_process_fn_grad(results[0] if len(results) == 1 else tuple(results)))
    found = [one.detach().cpu() for one in results]
    leaves = [one for one in tensors(given) if one.requires_grad]
    through = [one for one in results if one.requires_grad]
    if wants and leaves and through:
        grads = torch.autograd.grad(through, leaves, [torch.ones_like(one) for one in through], allow_unused=True)
        found += [one.cpu() for one in grads if one is not None]
    return found


def _moved(value: Any, device: str) -> Any:
    import torch
    from torch.utils._pytree import tree_map

    def one(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return x.detach().clone().to(device).requires_grad_(x.requires_grad)
        if isinstance(x, torch.device) or (isinstance(x, str) and x == "cpu"):
            return torch.device(device)
        return x

    return tree_map(one, value)
