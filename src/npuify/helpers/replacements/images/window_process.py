# mypy: ignore-errors
"""Swin's images rolled and cut into windows, and put together again: forward and backward.

float16 and float32, any other type as float32 as in the kernel. A roll and a change of order of the axes.
"""

import torch


def _typed(tensor):
    return tensor if tensor.dtype in (torch.float16, torch.float32) else tensor.float()


def _cut(image, B, H, W, C, window):
    parts = image.reshape(B, H // window, window, W // window, window, C).permute(0, 1, 3, 2, 4, 5)
    return parts.reshape(-1, window, window, C)


def _merged(windows, B, H, W, C, window):
    image = windows.reshape(B, H // window, W // window, window, window, C).permute(0, 1, 3, 2, 4, 5)
    return image.reshape(B, H, W, C)


def roll_and_window_partition_forward(input, B, H, W, C, shift_size, window_size):
    """(windows, window_size, window_size, C) of (B, H, W, C)."""
    rolled = torch.roll(_typed(input).reshape(B, H, W, C), (shift_size, shift_size), (1, 2))
    return _cut(rolled, B, H, W, C, window_size)


def roll_and_window_partition_backward(grad_in, B, H, W, C, shift_size, window_size):
    merged = _merged(_typed(grad_in), B, H, W, C, window_size)
    return torch.roll(merged, (-shift_size, -shift_size), (1, 2))


def window_merge_and_roll_forward(input, B, H, W, C, shift_size, window_size):
    """(B, H, W, C) of windows."""
    if H // window_size != W // window_size:
        raise NotImplementedError("the kernel takes the number of rows of windows for that of columns")
    return torch.roll(_merged(_typed(input), B, H, W, C, window_size), (shift_size, shift_size), (1, 2))


def window_merge_and_roll_backward(grad_in, B, H, W, C, shift_size, window_size):
    rolled = torch.roll(_typed(grad_in).reshape(B, H, W, C), (-shift_size, -shift_size), (1, 2))
    return _cut(rolled, B, H, W, C, window_size)
