"""Arguments for modules that take the place of kernels on images and on regions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuify.selftest.inside.samples.made import empty, numbers, positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable


def _boxes(degrees: bool) -> Any:
    turned = [[5.0, 5, 4, 2, 0.3], [5.5, 5, 4, 2, 0.2], [9, 3, 3, 3, 1.1]]
    return whole([[*one[:4], one[4] * (57.0 if degrees else 1.0)] for one in turned], "float32")


def _regions() -> Any:
    return whole([[0.0, 3, 4, 4, 3, 0.4], [0, 5, 3, 3, 5, -0.7]], "float32")


def _quads() -> Any:
    rows = [
        [0.0, 0, 4, 0, 4, 4, 0, 4, 0.9],
        [0.5, 0.2, 4.5, 0.3, 4.4, 4.1, 0.4, 4.2, 0.8],
        [8, 8, 11, 8, 11, 10, 8, 10, 0.7],
    ]
    return whole(rows, "float32")


def _levels() -> tuple[Any, ...]:
    """Two levels of 4 by 5 and 2 by 3 places, two heads, three queries, two points of each."""
    place = numbers(1, 3, 2, 2, 2, 2, seed=5).sigmoid()
    shares = numbers(1, 3, 2, 4, seed=6).softmax(-1).reshape(1, 3, 2, 2, 2)
    return numbers(1, 26, 2, 4), whole([[4, 5], [2, 3]], "int64"), whole([0, 20], "int64"), place, shares


def _deformed(groups: int) -> tuple[Any, ...]:
    """An image, a weight, an offset and a mask for a kernel of 3 by 3."""
    image, weight = numbers(1, 4, 5, 6), numbers(3, 4, 3, 3)
    offset = numbers(1, 18 * groups, 5, 6, seed=5) * 0.5
    return image, weight, offset, numbers(1, 9 * groups, 5, 6, seed=6).sigmoid()


def _of_deformed() -> tuple[Any, ...]:
    image, weight, offset, mask = _deformed(2)
    return image, weight, numbers(3), offset, mask


def _moved(grad: bool) -> tuple[Any, ...]:
    """InternImage's: two groups of two channels, a kernel of 3 by 3."""
    out = (numbers(1, 4, 5, 4, seed=7),) if grad else ()
    given = (numbers(1, 4, 5, 4), numbers(1, 4, 5, 36, seed=5) * 0.5, numbers(1, 4, 5, 18, seed=6).sigmoid())
    return (*given, 3, 3, 1, 1, 1, 1, 1, 1, 2, 2, 1.0, *out, 1)


def _sampled(grad: bool) -> tuple[Any, ...]:
    out = (numbers(1, 3, 3, 4, 5, seed=7),) if grad else ()
    return (numbers(1, 2, 4, 5), numbers(1, 2, 4, 5, seed=5), *out, 1, 1, 3, 3, 0, 0, 1, 1, 1, 1, 1, 1)


def _pooled() -> tuple[Any, ...]:
    """Maps of two channels for four bins, regions, and offsets of one class."""
    rois = whole([[0.0, 1, 1, 6, 6], [0, 0, 2, 5, 7]], "float32")
    return numbers(1, 8, 8, 8), rois, numbers(2, 2, 2, 2, seed=5) * 0.3


SAMPLES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "replacements.carafe:forward_naive": lambda: (
        numbers(1, 4, 3, 4),
        numbers(1, 9, 6, 8, seed=5),
        3,
        1,
        2,
        empty(1, 4, 6, 8),
    ),
    "replacements.carafe:backward_naive": lambda: (
        numbers(1, 4, 6, 8, seed=6),
        numbers(1, 4, 3, 4),
        numbers(1, 9, 6, 8, seed=5),
        3,
        1,
        2,
        empty(1, 4, 3, 4),
        empty(1, 9, 6, 8),
    ),
    "replacements.correlation_lookup:sampler_forward": lambda: (
        numbers(1, 4, 5, 8),
        positive(1, 1, 4, 5, seed=5) * 3,
        2,
    ),
    "replacements.correlation_lookup:sampler_backward": lambda: (
        numbers(1, 4, 5, 8),
        positive(1, 1, 4, 5, seed=5) * 3,
        numbers(1, 5, 4, 5, seed=6),
        2,
    ),
    "replacements.correlation_lookup:alternate_forward": lambda: (
        numbers(1, 3, 4, 6),
        numbers(1, 3, 4, 6, seed=5),
        positive(1, 1, 3, 4, 2, seed=6) * 2,
        1,
    ),
    "replacements.correlation_sampler:forward": lambda: _sampled(False),
    "replacements.correlation_sampler:backward": lambda: _sampled(True),
    "replacements.dcnv3:dcnv3_forward": lambda: _moved(False),
    "replacements.dcnv3:dcnv3_backward": lambda: _moved(True),
    "replacements.deform_conv:dcn_v2_forward": lambda: (*_of_deformed(), 3, 3, 1, 1, 1, 1, 1, 1, 2),
    "replacements.deform_conv:dcn_v2_backward": lambda: (
        *_of_deformed(),
        numbers(1, 3, 5, 6, seed=7),
        3,
        3,
        1,
        1,
        1,
        1,
        1,
        1,
        2,
    ),
    "replacements.deform_conv:deform_conv_forward": lambda: (
        *_deformed(1)[:3],
        empty(1, 3, 5, 6),
        empty(1),
        empty(1),
        3,
        3,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
    ),
    "replacements.forward_warp:forward": lambda: (numbers(1, 2, 5, 6), numbers(1, 5, 6, 2, seed=5), 0),
    "replacements.forward_warp:backward": lambda: (
        numbers(1, 2, 5, 6, seed=6),
        numbers(1, 2, 5, 6),
        numbers(1, 5, 6, 2, seed=5),
        0,
    ),
    "replacements.masked_conv:masked_im2col_forward": lambda: (
        numbers(1, 2, 5, 6),
        whole([0, 2, 4], "int64"),
        whole([1, 5, 3], "int64"),
        3,
        3,
        1,
        1,
        empty(18, 3),
    ),
    "replacements.masked_conv:masked_col2im_forward": lambda: (
        numbers(2, 3),
        whole([0, 2, 4], "int64"),
        whole([1, 5, 3], "int64"),
        5,
        6,
        2,
        empty(1, 2, 5, 6),
    ),
    "replacements.ms_deform_attn:ms_deform_attn_forward": lambda: (*_levels(), 64),
    "replacements.ms_deform_attn:ms_deform_attn_backward": lambda: (*_levels(), numbers(1, 3, 8, seed=7), 64),
    "replacements.polygon_nms:poly_nms": lambda: (_quads(), 0.3),
    "replacements.polygon_nms:nms_poly": lambda: (_quads(), 0.3),
    "replacements.psroi:dcn_v2_psroi_pooling_forward": lambda: (*_pooled(), 0, 1.0, 2, 2, 2, 2, 2, 0.1),
    "replacements.psroi:dcn_v2_psroi_pooling_backward": lambda: (
        numbers(2, 2, 2, 2, seed=6),
        *_pooled(),
        positive(2, 2, 2, 2, seed=7).round() + 1,
        0,
        1.0,
        2,
        2,
        2,
        2,
        2,
        0.1,
    ),
    "replacements.rotated_boxes:box_iou_rotated": lambda: (_boxes(True), _boxes(True)[:2]),
    "replacements.rotated_boxes:nms_rotated": lambda: (_boxes(True), whole([0.5, 0.9, 0.8], "float32"), 0.4),
    "replacements.rotated_boxes:nms_rotated_radians": lambda: (
        _boxes(False),
        whole([0.5, 0.9, 0.8], "float32"),
        0.4,
    ),
    "replacements.rotated_regions:roi_align_rotated_forward": lambda: (numbers(1, 2, 8, 8), _regions(), 1.0, 2, 2, 2),
    "replacements.rotated_regions:roi_align_rotated_backward": lambda: (
        numbers(2, 2, 2, 2, seed=5),
        _regions(),
        1.0,
        2,
        2,
        1,
        2,
        8,
        8,
        2,
    ),
    "replacements.window_process:roll_and_window_partition_forward": lambda: (
        numbers(1, 4, 6, 3),
        1,
        4,
        6,
        3,
        -1,
        2,
    ),
    "replacements.window_process:window_merge_and_roll_forward": lambda: (numbers(4, 2, 2, 3), 1, 4, 4, 3, 1, 2),
}
"""Module below ``npuify.helpers`` and function → arguments for it, on the CPU."""
