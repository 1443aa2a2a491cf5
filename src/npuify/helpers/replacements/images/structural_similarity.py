# mypy: ignore-errors
"""The structural similarity of images with a Gaussian window of 11 pixels, and its derivatives: fused-ssim 1.0.

float32, images of (batch, channels, height, width), zeros around them. The window is laid on rows and then on columns,
by two convolutions of each map; five maps are held for the result, three for the gradient, where the kernel holds none.
"""

import torch
from torch.nn import functional

_WINDOW = (
    0.001028380123898387, 0.0075987582094967365, 0.036000773310661316, 0.10936068743467331, 0.21300552785396576,
    0.26601171493530273, 0.21300552785396576, 0.10936068743467331, 0.036000773310661316, 0.0075987582094967365,
    0.001028380123898387,
)  # fmt: skip


def _smoothed(maps):
    """Each map of (number, 1, height, width), smoothed."""
    window = torch.tensor(_WINDOW, device=maps.device, dtype=maps.dtype)
    maps = functional.conv2d(maps, window.reshape(1, 1, 1, -1), padding=(0, 5))
    return functional.conv2d(maps, window.reshape(1, 1, -1, 1), padding=(5, 0))


def _each(*images):
    """The smoothed forms of several images of one shape."""
    shape = images[0].shape
    maps = torch.stack(images).reshape(-1, 1, *shape[2:])
    return _smoothed(maps).reshape(len(images), *shape).unbind(0)


def fusedssim(c1, c2, img1, img2, train):
    """The similarity of each pixel; and for training its derivatives by mean, variance and covariance."""
    mean1, square1, mean2, square2, product = _each(img1, img1 * img1, img2, img2 * img2, img1 * img2)
    a = mean1 * mean1 + mean2 * mean2 + c1
    b = square1 - mean1 * mean1 + square2 - mean2 * mean2 + c2
    c, d = 2 * mean1 * mean2 + c1, 2 * (product - mean1 * mean2) + c2
    similarity = (c * d) / (a * b)
    if not train:
        none = img1.new_empty(0)
        return similarity, none, none.clone(), none.clone()
    by_mean = (mean2 * 2 * d - mean2 * 2 * c) / (a * b)
    by_mean = by_mean - mean1 * 2 * c * d / (a * a * b) + mean1 * 2 * c * d / (a * b * b)
    return similarity, by_mean, -c * d / (a * b * b), 2 * c / (a * b)


def fusedssim_backward(c1, c2, img1, img2, dl_dmap, dm_dmu1, dm_dsigma1_sq, dm_dsigma12):
    """The gradient of the first image."""
    by_mean, by_variance, by_product = _each(dm_dmu1 * dl_dmap, dm_dsigma1_sq * dl_dmap, dm_dsigma12 * dl_dmap)
    return by_mean + 2 * img1 * by_variance + img2 * by_product
