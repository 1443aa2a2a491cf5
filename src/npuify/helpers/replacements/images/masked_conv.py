# mypy: ignore-errors
"""The columns of a convolution at some places of an image, and back, as mmdetection's masked convolution needs them.

One image; any kernel and padding, a stride of 1; float16, float32 and float64. Nothing is held that the kernel does not
hold. There is no gradient, as in the kernels.
"""

import torch


def masked_im2col_forward(im, mask_h_idx, mask_w_idx, kernel_h, kernel_w, pad_h, pad_w, col):
    """What the kernel sees of (1, channels, height, width) at each place, into (channels * taps, places)."""
    _, channels, height, width = im.shape
    row = mask_h_idx[:, None, None] - pad_h + torch.arange(kernel_h, device=im.device)[:, None]
    column = mask_w_idx[:, None, None] - pad_w + torch.arange(kernel_w, device=im.device)
    there = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    place = torch.where(there, row * width + column, torch.zeros_like(row * column)).reshape(len(mask_h_idx), -1)
    seen = im.reshape(channels, height * width)[:, place]
    seen = torch.where(there.reshape(place.shape), seen, torch.zeros_like(seen))
    col.copy_(seen.permute(0, 2, 1).reshape(col.shape))
    return 1


def masked_col2im_forward(col, mask_h_idx, mask_w_idx, height, width, channels, im):
    """(channels, places) is written to its places in (1, channels, height, width)."""
    place = mask_h_idx.long() * width + mask_w_idx.long()
    flat = im.reshape(channels, height * width)
    im.copy_(flat.index_copy(1, place, col.reshape(channels, -1)).reshape(im.shape))
    return 1
