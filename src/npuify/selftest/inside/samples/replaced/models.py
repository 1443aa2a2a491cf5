"""Arguments for modules that take the place of kernels of sequence models and of training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuify.selftest.inside.samples.made import empty, numbers, positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable


def _lists(count: int) -> list[list[Any]]:
    return [[numbers(3, 2, seed=10 * n), positive(5, seed=10 * n + 1)] for n in range(1, count + 1)]


def _flag() -> Any:
    return whole([0])


def _moments() -> list[list[Any]]:
    """Gradients, weights, first moments, and second ones, which are not below 0."""
    lists = _lists(4)
    return [*lists[:3], [one.abs() for one in lists[3]]]


def _packed(bits: int) -> tuple[Any, ...]:
    """32 rows of four columns in words of 32 bits."""
    words = 32 * bits // 32
    mat = whole([[(row * 40503 + column * 9973) * 12347 % 2**31 for column in range(4)] for row in range(words)])
    return (numbers(2, 32), mat, empty(2, 4), positive(4, 1, seed=5), positive(4, 1, seed=6))


def _grouped(bits: int) -> tuple[Any, ...]:
    vec, mat, mul, _, _ = _packed(bits)
    return (vec, mat, mul, positive(1, 4, seed=5), whole([[0x1234567]]))


def _labelled() -> tuple[Any, ...]:
    return numbers(4, 7), whole([0, 6, 2, 3], "int64")


def _normed() -> tuple[Any, ...]:
    """A gradient, what the forward pass keeps, and the input."""
    given = numbers(4, 6)
    mean = given.mean(-1)
    inverse = (given.var(-1, unbiased=False) + 1e-3).rsqrt()
    return numbers(4, 6, seed=5), mean, inverse, given


def _routed() -> tuple[Any, ...]:
    return numbers(5, 3), whole([2, 0, 3], "int64"), numbers(3, 4, 3, seed=5)


def _heads() -> tuple[Any, ...]:
    """Two sequences of five times, four channels in two heads."""
    r, k, v = (numbers(2, 5, 4, seed=seed) for seed in (5, 6, 7))
    return 2, 5, 4, 2, r, k, v


def _complex(*shape: int, seed: int) -> Any:
    import torch

    return torch.view_as_complex(numbers(*shape, 2, seed=seed))


SAMPLES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "replacements.cross_entropy:forward": lambda: (*_labelled(), False),
    "replacements.cross_entropy:backward": lambda: (
        numbers(4, seed=5),
        _labelled()[0],
        _labelled()[0].logsumexp(-1),
        _labelled()[1],
    ),
    "replacements.cross_entropy:forward_smoothed": lambda: (*_labelled(), 0.1, False),
    "replacements.cross_entropy:backward_smoothed": lambda: (
        numbers(4, seed=5),
        _labelled()[0],
        _labelled()[0].logsumexp(-1),
        _labelled()[1],
        0.1,
    ),
    "replacements.expert_routing:expert_count": lambda: (whole([2, 0, 2, 1, -1], "int64"), whole([0, 0, 0], "int64")),
    "replacements.expert_routing:assign_pos": lambda: (
        whole([1, 3, 4], "int64"),
        whole([2, 0, 1, 1], "int64"),
        whole([0] * 4, "int64"),
    ),
    "replacements.expert_routing:prune_gate_by_capacity": lambda: (
        whole([2, 0, 2, 1], "int64"),
        whole([1, 0, 1]),
        3,
        1,
    ),
    "replacements.expert_routing:linear_forward": lambda: (*_routed(), numbers(3, 4)),
    "replacements.expert_routing:linear_backward": lambda: (numbers(5, 4, seed=6), *_routed(), numbers(3, 4)),
    "replacements.gptq_matmul:vecquant2matmul": lambda: _packed(2),
    "replacements.gptq_matmul:vecquant3matmul": lambda: _packed(3),
    "replacements.gptq_matmul:vecquant4matmul": lambda: _packed(4),
    "replacements.gptq_matmul:vecquant8matmul": lambda: _packed(8),
    "replacements.gptq_matmul:groups4": lambda: (*_grouped(4), 32),
    "replacements.layer_norm:forward": lambda: (numbers(4, 6), (6,), 1e-3),
    "replacements.layer_norm:forward_affine": lambda: (numbers(4, 6), (6,), positive(6), numbers(6, seed=5), 1e-3),
    "replacements.layer_norm:rms_forward_affine": lambda: (numbers(4, 6), (6,), positive(6), 1e-3),
    "replacements.layer_norm:backward_affine": lambda: (
        *_normed(),
        (6,),
        positive(6),
        numbers(6, seed=6),
        1e-3,
        False,
    ),
    "replacements.layer_norm:rms_backward_affine": lambda: (
        _normed()[0],
        (_normed()[3].square().mean(-1) + 1e-3).rsqrt(),
        _normed()[3],
        (6,),
        positive(6),
        1e-3,
        False,
    ),
    "replacements.multi_tensor:multi_tensor_scale": lambda: (2048, _flag(), _lists(2), 0.5),
    "replacements.multi_tensor:multi_tensor_axpby": lambda: (2048, _flag(), _lists(3), 2.0, -3.0, -1),
    "replacements.multi_tensor:multi_tensor_l2norm": lambda: (2048, _flag(), _lists(1), True),
    "replacements.multi_tensor:multi_tensor_adam": lambda: (
        2048,
        _flag(),
        _moments(),
        0.1,
        0.9,
        0.99,
        1e-8,
        3,
        1,
        1,
        0.05,
    ),
    "replacements.multi_tensor:multi_tensor_sgd": lambda: (
        2048,
        _flag(),
        _lists(3),
        0.01,
        0.9,
        0.0,
        0.1,
        False,
        False,
        False,
        1.0,
    ),
    "replacements.ngram_block:forward": lambda: (
        whole([[1, 2, 3, 1, 2, 0], [2, 2, 2, 2, 2, 0]], "int64"),
        numbers(2, 5),
        1,
        4,
        2,
        3,
    ),
    "replacements.structured_kernels:cauchy_mult_sym_fwd": lambda: (
        _complex(2, 4, seed=5),
        _complex(6, seed=6),
        _complex(2, 4, seed=7),
    ),
    "replacements.structured_kernels:vand_log_mult_sym_fwd": lambda: (
        _complex(2, 4, seed=5),
        _complex(2, 4, seed=6) * 0.1,
        6,
    ),
    "replacements.wkv_heads:forward5": lambda: (*_heads(), -positive(2, 2), numbers(2, 2, seed=9), empty(2, 5, 4)),
    "replacements.wkv_heads:forward6": lambda: (
        *_heads(),
        -positive(2, 5, 4),
        numbers(2, 2, seed=9),
        empty(2, 5, 4),
    ),
    "replacements.wkv_heads:forward7": lambda: (
        2,
        5,
        4,
        2,
        numbers(2, 5, 4, seed=5),
        -positive(2, 5, 4),
        *(numbers(2, 5, 4, seed=seed) * 0.5 for seed in (6, 7, 8, 9)),
        empty(2, 5, 4),
    ),
}
"""Module below ``npuify.helpers`` and function → arguments for it, on the CPU."""
