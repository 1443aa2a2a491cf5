# mypy: ignore-errors
"""CARAFE: upsampling by weights that each pixel brings for its neighbourhood, forward and backward.

Odd sizes of the neighbourhood. One step for each of its places over the whole map, so that a step holds the result
once; float16, bfloat16, float32 and float64, half precision summed in float32.
"""

import torch


def _wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _steps(features, masks, size, groups, scale):
    """For each place of the neighbourhood: its features (batch, groups, channels, rows, 1, columns, 1), its weights."""
    if size % 2 != 1:
        raise NotImplementedError("the neighbourhood of CARAFE has an odd size")
    batch, _channels, height, width = features.shape
    around = (size - 1) // 2
    padded = torch.nn.functional.pad(_wide(features), (around,) * 4)
    weights = _wide(masks).reshape(batch, groups, size * size, 1, height, scale, width, scale)
    for place in range(size * size):
        row, column = divmod(place, size)
        moved = padded[:, :, row : row + height, column : column + width]
        yield place, moved.reshape(batch, groups, -1, height, 1, width, 1), weights[:, :, place]


def _forward(features, masks, size, groups, scale):
    batch, channels, height, width = features.shape
    made = 0
    for _, moved, weights in _steps(features, masks, size, groups, scale):
        made = made + moved * weights
    return made.reshape(batch, channels, height * scale, width * scale)


def _backward(grad, features, masks, size, groups, scale):
    batch, channels, height, width = features.shape
    given = _wide(grad).reshape(batch, groups, -1, height, scale, width, scale)
    around = (size - 1) // 2
    of_features = given.new_zeros(batch, channels, height + 2 * around, width + 2 * around)
    of_masks = torch.empty(
        batch, groups, size * size, height, scale, width, scale, dtype=given.dtype, device=grad.device
    )
    for place, moved, weights in _steps(features, masks, size, groups, scale):
        row, column = divmod(place, size)
        added = (given * weights).sum((4, 6)).reshape(batch, channels, height, width)
        of_features[:, :, row : row + height, column : column + width] += added
        of_masks[:, :, place] = (given * moved).sum(2)
    of_features = of_features[:, :, around : around + height, around : around + width]
    return of_features, of_masks.reshape(masks.shape)


def forward_naive(features, masks, kernel_size, group_size, scale_factor, output):
    """Written into ``output``."""
    output.copy_(_forward(features, masks, kernel_size, group_size, scale_factor))
    return 1


def backward_naive(top_grad, features, masks, kernel_size, group_size, scale_factor, bottom_grad, mask_grad):
    """Added to both gradients."""
    of_features, of_masks = _backward(top_grad, features, masks, kernel_size, group_size, scale_factor)
    bottom_grad += of_features.to(bottom_grad.dtype)
    mask_grad += of_masks.to(mask_grad.dtype)
    return 1


def forward(features, rfeatures, masks, rmasks, kernel_size, group_size, scale_factor, routput, output):
    """Written into ``output``; the others with ``r`` are given the same with channels last, as the kernel does."""
    made = _forward(features, masks, kernel_size, group_size, scale_factor)
    output.copy_(made)
    for target, value in ((rfeatures, features), (rmasks, masks), (routput, made)):
        value = value.permute(0, 2, 3, 1)
        target.resize_(value.shape)
        target.copy_(value)
    return 1


def backward(
    top_grad,
    rfeatures,
    masks,
    kernel_size,
    group_size,
    scale_factor,
    rtop_grad,
    rbottom_grad_hs,
    rbottom_grad,
    rmask_grad,
    bottom_grad,
    mask_grad,
):
    """``bottom_grad`` and ``mask_grad`` are written; what the kernel needs on the way is left as it is."""
    features = rfeatures.permute(0, 3, 1, 2)
    of_features, of_masks = _backward(top_grad, features, masks, kernel_size, group_size, scale_factor)
    bottom_grad.copy_(of_features)
    mask_grad.copy_(of_masks)
    return 1
