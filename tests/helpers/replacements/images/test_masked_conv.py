"""Columns at some places against torch's own unfolding, and a loop."""

from __future__ import annotations

import pytest

from tests.helpers.replacements.common import close, module, numbers, torch

PLACES = torch.tensor([[0, 0], [2, 3], [4, 5], [1, 0]])


@pytest.mark.parametrize(("kernel", "padding"), [((3, 3), (1, 1)), ((1, 2), (0, 1)), ((2, 3), (1, 0))])
def test_columns(kernel: tuple[int, int], padding: tuple[int, int]) -> None:
    conv, image = module("masked_conv"), numbers(1, 2, 5, 6)
    rows, columns = PLACES.unbind(1)
    made = torch.zeros(2 * kernel[0] * kernel[1], len(PLACES)).double()
    assert conv.masked_im2col_forward(image, rows, columns, *kernel, *padding, made) == 1
    for n, (row, column) in enumerate(PLACES.tolist()):
        wanted = []
        for c in range(2):
            for i in range(kernel[0]):
                for j in range(kernel[1]):
                    y, x = row - padding[0] + i, column - padding[1] + j
                    wanted.append(image[0, c, y, x].item() if 0 <= y < 5 and 0 <= x < 6 else 0.0)
        close(made[:, n], torch.tensor(wanted, dtype=torch.float64))


def test_back() -> None:
    conv, values = module("masked_conv"), numbers(2, len(PLACES), seed=1)
    image, wanted = (torch.full((1, 2, 5, 6), 3.0).double() for _ in range(2))
    assert conv.masked_col2im_forward(values, *PLACES.unbind(1), 5, 6, 2, image) == 1
    for n, (row, column) in enumerate(PLACES.tolist()):
        wanted[0, :, row, column] = values[:, n]
    close(image, wanted)
