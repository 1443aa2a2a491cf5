"""Arguments for modules that take the place of kernels on points, voxels and rays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuify.selftest.inside.samples.made import empty, numbers, positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable

_ENDS = [0, 3, 3, 8, 10]
"""Where segments of ten points end; one has none."""


def _matched() -> tuple[Any, ...]:
    """Two sets of as many points as the kernel wants at least, and all that three rounds write."""
    one, two, rest = numbers(1, 1024, 3), numbers(1, 1024, 3, seed=5), [empty(1)] * 8
    nobody = whole([[-1] * 1024])
    return (one, two, empty(1, 1024), nobody, empty(1, 1024), nobody.clone(), *rest, 0.05, 3)


def _places() -> Any:
    return whole([[0, 0, 0, 0], [0, 1, 2, 0], [0, 1, 2, 1], [0, 3, 3, 2]])


def _rules(submanifold: int) -> tuple[Any, ...]:
    stride = [1] * 3 if submanifold else [2] * 3
    shape = [4] * 3 if submanifold else [2] * 3
    return (_places(), 1, shape, [4] * 3, [3] * 3, stride, [1] * 3, [1] * 3, [0] * 3, submanifold, 0)


def _pairs() -> tuple[Any, ...]:
    """Three places of a kernel that join four rows to three."""
    pairs = whole([[[0, 1, -1, -1], [0, 2, -1, -1]], [[0, 1, 2, 3], [0, 0, 1, 2]], [[3, -1, -1, -1], [1, -1, -1, -1]]])
    return pairs, whole([2, 4, 1])


def _marched() -> tuple[Any, ...]:
    low, high = whole([-1.0] * 3, "float32"), whole([1.0] * 3, "float32")
    return (numbers(6, 3) * 0.3, numbers(6, 3, seed=5), low, high, 0.1, 3.0)


def _shares() -> tuple[Any, ...]:
    """The rays of seven points, the shares that each lets through, and where each ray begins and ends."""
    ray = whole([0, 0, 0, 1, 1, 2, 2], "int64")
    return numbers(7).sigmoid(), ray, whole([0, 3, 5], "int64"), whole([3, 5, 7], "int64")


def _grid(grad: bool) -> tuple[Any, ...]:
    """Two levels of a table of 40 rows in two dimensions."""
    points, table = numbers(5, 2).sigmoid(), numbers(40, 2, seed=5)
    ends = whole([0, 16, 40])
    out = (empty(40, 2),) if grad else (empty(2, 5, 2),)
    head = (numbers(2, 5, 2, seed=6),) if grad else ()
    last = (None, None) if grad else (None,)
    return (*head, points, table, ends, *out, 5, 2, 2, 2, 0.7, 3, *last, 0, False, 0)


def _stepped() -> tuple[Any, ...]:
    grad = numbers(4, 3, seed=5)
    grad[0] = 0
    return (numbers(4, 3), grad, numbers(4, 3, seed=6), positive(4, 3, seed=7))


def _packed() -> tuple[Any, ...]:
    """Two sets of six points behind one another, and where they end."""
    return numbers(12, 3), whole([6, 12])


def _cubes() -> Any:
    return whole([[0.0, 0, 0, 2, 3, 2, 0.3], [1, 1, 0, 2, 2, 3, -0.6]], "float32")


SAMPLES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "replacements.auction:emd_forward": _matched,
    "replacements.auction:emd_backward": lambda: (
        numbers(1, 6, 3),
        numbers(1, 6, 3, seed=5),
        empty(1, 6, 3),
        numbers(1, 6),
        whole([[5, 0, 3, 1, 2, 4]]),
    ),
    "replacements.auction:gather_points_grad": lambda: (numbers(1, 3, 4), whole([[0, 5, 5, 1]]), 6),
    "replacements.encoders:sh_encode_forward": lambda: (numbers(5, 3), empty(5, 16), 5, 3, 4, None),
    "replacements.encoders:freq_encode_forward": lambda: (numbers(4, 3), 4, 3, 2, 15, empty(4, 15)),
    "replacements.encoders:freq_encode_backward": lambda: (
        numbers(4, 15, seed=5),
        numbers(4, 15),
        4,
        3,
        2,
        15,
        empty(4, 3),
    ),
    "replacements.encoders:grid_encode_forward": lambda: _grid(False),
    "replacements.encoders:grid_encode_backward": lambda: _grid(True),
    "replacements.nearest_points:knn": lambda: (numbers(3, 12), numbers(3, 5, seed=5), 4),
    "replacements.nearest_points:knn_wrapper": lambda: (
        2,
        9,
        5,
        3,
        numbers(2, 9, 3),
        numbers(2, 5, 3, seed=5),
        whole([[[0] * 3] * 5] * 2),
        empty(2, 5, 3),
    ),
    "replacements.nearest_points:ball_query_wrapper": lambda: (
        1,
        20,
        5,
        0.0,
        1.0,
        4,
        numbers(1, 5, 3, seed=5),
        numbers(1, 20, 3),
        whole([[[0] * 4] * 5]),
    ),
    "replacements.packed_points:knn_query": lambda: (
        12,
        3,
        _packed()[0],
        _packed()[0],
        _packed()[1],
        _packed()[1],
        whole([[0] * 3] * 12),
        empty(12, 3),
    ),
    "replacements.packed_points:furthest_point_sampling": lambda: (
        2,
        6,
        *_packed(),
        whole([3, 6]),
        empty(12) + 1e10,
        whole([0] * 6),
    ),
    "replacements.packed_points:grouping_forward": lambda: (
        4,
        2,
        3,
        numbers(6, 3),
        whole([[0, 1], [5, 5], [2, 0], [4, 3]]),
        empty(4, 2, 3),
    ),
    "replacements.packed_points:grouping_backward": lambda: (
        4,
        2,
        3,
        numbers(4, 2, 3, seed=5),
        whole([[0, 1], [5, 5], [2, 0], [4, 3]]),
        empty(6, 3),
    ),
    "replacements.packed_points:interpolation_forward": lambda: (
        4,
        3,
        2,
        numbers(6, 3),
        whole([[0, 1], [5, 5], [2, 0], [4, 3]]),
        positive(4, 2, seed=5),
        empty(4, 3),
    ),
    "replacements.packed_points:aggregation_forward": lambda: (
        4,
        2,
        4,
        2,
        numbers(6, 4),
        numbers(4, 2, 4, seed=5),
        numbers(4, 2, 2, seed=6),
        whole([[0, 1], [5, 5], [2, 0], [4, 3]]),
        empty(4, 4),
    ),
    "replacements.point_grids:gridding_forward": lambda: (-2, 2, -2, 2, -2, 2, numbers(2, 7, 3).tanh() * 1.9),
    "replacements.point_grids:distance_forward": lambda: (-2, 2, -2, 2, -2, 2, numbers(2, 7, 3).tanh() * 1.9),
    "replacements.point_grids:rev_forward": lambda: (4, positive(2, 64)),
    "replacements.point_grids:cubic_forward": lambda: (
        4,
        1,
        numbers(1, 5, 3).tanh() * 1.9 + 2.0,
        numbers(1, 3, 4, 4, 4, seed=5),
    ),
    "replacements.point_groups:sec_mean": lambda: (numbers(10, 2), whole(_ENDS), empty(4, 2), 4, 2),
    "replacements.point_groups:sec_max": lambda: (numbers(10, 2), whole(_ENDS), empty(4, 2), 4, 2),
    "replacements.point_groups:roipool_fp": lambda: (
        numbers(10, 2),
        whole(_ENDS),
        empty(4, 2),
        whole([[0] * 2] * 4),
        4,
        2,
    ),
    "replacements.point_groups:roipool_bp": lambda: (
        empty(10, 2),
        whole([0, 3, 8, 10]),
        whole([[0, 2], [3, 7], [9, 8]]),
        numbers(3, 2),
        3,
        2,
    ),
    "replacements.point_groups:voxelize_fp": lambda: (
        numbers(5, 3),
        empty(3, 3),
        whole([[2, 0, 3], [1, 1, 0], [2, 2, 4]]),
        4,
        3,
        2,
        3,
    ),
    "replacements.point_groups:get_iou": lambda: (
        whole([0, 3, 5, 1, 1, 2, 7, 8, 4, 6]),
        whole(_ENDS),
        whole([0, 1, -100, 1, 2, 2, 0, 0, 1], "int64"),
        whole([3, 3, 2]),
        empty(4, 3),
        3,
        4,
    ),
    "replacements.points_in_boxes:points_in_boxes_gpu": lambda: (
        _cubes()[None],
        numbers(1, 20, 3),
        whole([[-1] * 20]),
    ),
    "replacements.points_in_boxes:roiaware_pool3d_forward": lambda: (
        _cubes(),
        numbers(20, 3),
        numbers(20, 2, seed=5),
        whole([[[[[0] * 2] * 2] * 2] * 2] * 2),
        whole([[[[[0] * 5] * 2] * 2] * 2] * 2),
        empty(2, 2, 2, 2, 2),
        0,
    ),
    "replacements.points_in_boxes:roipoint_pool3d_forward": lambda: (
        numbers(1, 20, 3),
        _cubes()[None],
        numbers(1, 20, 2, seed=5),
        empty(1, 2, 6, 5),
        whole([[0, 0]]),
    ),
    "replacements.sparse_conv:get_indice_pairs": lambda: _rules(0),
    "replacements.sparse_conv:indice_conv": lambda: (numbers(4, 2), numbers(3, 2, 3, seed=5), *_pairs(), 3, 0, 0),
    "replacements.sparse_conv:indice_conv_backward": lambda: (
        numbers(4, 2),
        numbers(3, 2, 3, seed=5),
        numbers(3, 3, seed=6),
        *_pairs(),
        0,
        0,
    ),
    "replacements.sparse_conv:indice_maxpool": lambda: (numbers(4, 2), *_pairs(), 3),
    "replacements.voxel_adam:adam_upd": lambda: (*_stepped(), 3, 0.9, 0.99, 0.1, 1e-8),
    "replacements.voxel_adam:masked_adam_upd": lambda: (*_stepped(), 3, 0.9, 0.99, 0.1, 1e-8),
    "replacements.voxel_adam:adam_upd_with_perlr": lambda: (
        *_stepped(),
        positive(4, 3, seed=8),
        3,
        0.9,
        0.99,
        0.1,
        1e-8,
    ),
    "replacements.voxel_rays:infer_t_minmax": _marched,
    "replacements.voxel_rays:sample_pts_on_rays": lambda: (*_marched(), 0.3),
    "replacements.voxel_rays:raw2alpha": lambda: (numbers(7), -1.0, 0.5),
    "replacements.voxel_rays:alpha2weight": lambda: (*_shares()[:2], 3),
    "replacements.voxel_rays:total_variation_add_grad": lambda: (
        numbers(1, 2, 4, 3, 5),
        numbers(1, 2, 4, 3, 5, seed=6),
        0.1,
        0.2,
        0.3,
        True,
    ),
}
"""Module below ``npuify.helpers`` and function → arguments for it, on the CPU."""
