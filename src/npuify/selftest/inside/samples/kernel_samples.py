"""Arguments for the modules that take the place of CUDA kernels and packages; torch is imported when one is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npuify.selftest.inside.samples.made import empty as _empty
from npuify.selftest.inside.samples.made import numbers as _numbers
from npuify.selftest.inside.samples.made import positive as _positive
from npuify.selftest.inside.samples.made import whole as _whole
from npuify.selftest.inside.samples.member_samples import MEMBERS
from npuify.selftest.inside.samples.replaced import models, pictures, spaces


def _mask(*shape: int) -> Any:
    return _numbers(*shape, seed=8) > 0.5


_ROIS = [[0.0, 1, 1, 6, 6], [0, 0, 2, 5, 7]]
_BOXES = [[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 10, 9]]


def _float(values: Any) -> Any:
    return _whole(values, "float32")


def _scan() -> tuple[Any, ...]:
    u, delta = _numbers(2, 4, 8), _positive(2, 4, 8)
    a, b, c = -_positive(4, 3), _numbers(2, 1, 3, 8, seed=5), _numbers(2, 1, 3, 8, seed=6)
    return (u, delta, a, b, c, _numbers(4), None, None, True)


def _recurrence(columns: int) -> tuple[Any, ...]:
    """Four times of two sequences, three parts of ``u`` for each of the columns, one sequence shorter."""
    u, x = _numbers(4, 2, columns * 3), _numbers(4, 2, columns, seed=5)
    pad = _whole([[0, 0], [0, 0], [0, 1], [0, 1]], "bool")
    return (u, x, _numbers(columns * 2), _numbers(columns * 2, seed=6), _numbers(2, columns), None, pad, 4, 2, 3)


def _aabb() -> Any:
    return _float([-1.0, -1, -1, 1, 1, 1])


SAMPLES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "replacements.attention_softmax:forward_": lambda: (_numbers(6, 8), 6, 8),
    "replacements.bev_pool:bev_pool_forward": lambda: (
        _numbers(4, 3),
        _whole([[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]]),
        _whole([2, 1, 1]),
        _whole([0, 2, 3]),
        1,
        1,
        2,
        2,
    ),
    "replacements.bilateral_filter:forward_3d": lambda: (_numbers(1, 1, 4, 3, 5), 0.7, 0.5, 0.9, 0.4),
    "replacements.boxes_bev:boxes_overlap_bev": lambda: (_positive(4, 7), _positive(3, 7, seed=5), _empty(4, 3)),
    "replacements.causal_conv1d:fwd_with_sequences": lambda: (
        _numbers(2, 4, 8),
        _numbers(4, 3),
        _numbers(4),
        None,
        True,
    ),
    "replacements.causal_product:causal_dot_product": lambda: (
        _numbers(1, 2, 5, 8),
        _numbers(1, 2, 5, 8, seed=4),
        _numbers(1, 2, 5, 8, seed=5),
        _empty(1, 2, 5, 8),
    ),
    "replacements.chamfer:forward_returned": lambda: (_numbers(2, 5, 3), _numbers(2, 7, 3, seed=5)),
    "replacements.detection:nms": lambda: (_float(_BOXES), _float([0.5, 0.9, 0.8, 0.1]), 0.5),
    "replacements.detection:roi_align_forward": lambda: (_numbers(1, 2, 8, 8), _float(_ROIS), 1.0, 2, 2, 2),
    "replacements.earth_mover:approxmatch_forward": lambda: (_numbers(1, 5, 3), _numbers(1, 5, 3, seed=6)),
    "replacements.flow:channelnorm_forward": lambda: (_numbers(1, 2, 4, 4), _empty(1, 1, 4, 4), 2),
    "replacements.fused_bias_act:fused_bias_act": lambda: (_numbers(2, 4), _numbers(4), _empty(0), 3, 0, 0.2, 1.4),
    "replacements.gated_activations:silu_and_mul": lambda: (_empty(3, 4), _numbers(3, 8)),
    "replacements.hadamard:fast_hadamard_transform": lambda: (_numbers(3, 8), 0.5),
    "replacements.masked_softmax:scaled_forward": lambda: (_numbers(2, 2, 4, 8).half(), 0.5),
    "replacements.masked_softmax:generic_forward": lambda: (_numbers(2, 2, 4, 8).half(), _mask(2, 1, 4, 8), 0.5),
    "replacements.masked_softmax:upper_forward": lambda: (_numbers(4, 8, 8).half(), 0.5),
    "replacements.mean_knn:mean_of_three": lambda: (_numbers(20, 3),),
    "replacements.point_sets:ball_query": lambda: (_numbers(2, 7, 3), _numbers(2, 40, 3, seed=6), 0.5, 8),
    "replacements.point_sets:furthest_point_sampling": lambda: (_numbers(2, 30, 3), 6),
    "replacements.point_sets:gather_points": lambda: (_numbers(2, 3, 6), _whole([[0, 5, 5, 1], [3, 2, 4, 0]])),
    "replacements.point_sets:three_nn": lambda: (_numbers(2, 7, 3), _numbers(2, 9, 3, seed=6)),
    "replacements.point_voxels:gather_features_forward": lambda: (
        _numbers(2, 3, 6),
        _whole([[0, 5, 5, 1], [3, 2, 4, 0]]),
    ),
    "replacements.ray_volumes:composite_train_fw": lambda: (
        _positive(6),
        _positive(6, 3),
        _positive(6, seed=5),
        _positive(6, seed=6),
        _whole([[1, 0, 4], [0, 4, 2]]).long(),
        1e-4,
    ),
    "replacements.ray_volumes:distortion_loss_fw": lambda: (
        _positive(6),
        _positive(6, seed=5),
        _positive(6, seed=6),
        _whole([[1, 0, 4], [0, 4, 2]]).long(),
    ),
    "replacements.raymarching:near_far_from_aabb": lambda: (
        _numbers(6, 3) * 3,
        _numbers(6, 3, seed=5),
        _aabb(),
        6,
        0.05,
        _empty(6),
        _empty(6),
    ),
    "replacements.raymarching:morton3d": lambda: (_whole([[1, 2, 3], [7, 0, 5], [0, 0, 0]]), 3, _whole([0, 0, 0])),
    "replacements.rotary_embedding:forward": lambda: (_numbers(5, 2, 2, 8), _numbers(5, 1, 1, 8, seed=5), False),
    "replacements.selective_scan:fwd": _scan,
    "replacements.splatting:splatting_forward_cuda": lambda: (
        _numbers(1, 3, 5, 6),
        _numbers(1, 2, 5, 6, seed=5),
        _empty(1, 3, 5, 6),
    ),
    "replacements.splatting:splatting_backward_cuda": lambda: (
        _numbers(1, 3, 5, 6),
        _numbers(1, 2, 5, 6, seed=5),
        _numbers(1, 3, 5, 6, seed=6),
        _empty(1, 3, 5, 6),
        _empty(1, 2, 5, 6),
    ),
    "replacements.sru:sru_forward_simple": lambda: _recurrence(3),
    "replacements.sru:sru_bi_forward_simple": lambda: _recurrence(6),
    "replacements.structural_similarity:fusedssim": lambda: (
        1e-4,
        9e-4,
        _positive(1, 3, 16, 16),
        _positive(1, 3, 16, 16, seed=6),
        True,
    ),
    "replacements.transducer_loss:rnnt_loss": lambda: (
        _numbers(2, 4, 3, 5).log_softmax(-1),
        _whole([[1, 2], [4, 3]]),
        _whole([4, 3]),
        _whole([2, 1]),
    ),
    "replacements.upfirdn2d:upfirdn2d": lambda: (_numbers(2, 8, 8, 1), _numbers(3, 3), 1, 1, 1, 1, 1, 1, 1, 1),
    "replacements.voxels:dynamic_voxelize": lambda: (
        _numbers(10, 3),
        _whole([[0, 0, 0]] * 10),
        [0.5, 0.5, 0.5],
        [-2.0, -2.0, -2.0, 2.0, 2.0, 2.0],
        3,
    ),
    "replacements.wkv:forward": lambda: (
        2,
        4,
        3,
        -_positive(3),
        _numbers(3, seed=5),
        _numbers(2, 4, 3),
        _numbers(2, 4, 3, seed=6),
        _empty(2, 4, 3),
    ),
    **models.SAMPLES,
    **pictures.SAMPLES,
    **spaces.SAMPLES,
    **MEMBERS,
}
"""Module below ``npuify.helpers`` and function → arguments for it, on the CPU."""
