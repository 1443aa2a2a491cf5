"""Swin's windows against loops over pixels."""

from __future__ import annotations

import itertools

import pytest

from tests.helpers.replacements.common import close, module, numbers, torch


@pytest.mark.parametrize("shift", [0, -2, 3])
@pytest.mark.parametrize("size", [(6, 9), (6, 6)])
def test_windows(shift: int, size: tuple[int, int]) -> None:
    windows, (high, wide), image = module("window_process"), size, numbers(2, *size, 3).float()
    cut = windows.roll_and_window_partition_forward(image, 2, high, wide, 3, shift, 3)
    wanted = torch.zeros(2 * (high // 3) * (wide // 3), 3, 3, 3)
    for b, y, x in itertools.product(range(2), range(high), range(wide)):
        at = b * (high // 3) * (wide // 3) + y // 3 * (wide // 3) + x // 3
        wanted[at, y % 3, x % 3] = image[b, (y - shift) % high, (x - shift) % wide]
    close(cut, wanted)
    # The gradient goes back the way that a number came.
    close(windows.roll_and_window_partition_backward(cut, 2, high, wide, 3, shift, 3), image)
    if high != wide:
        with pytest.raises(NotImplementedError):
            windows.window_merge_and_roll_forward(cut, 2, high, wide, 3, shift, 3)
        return
    plain = windows.roll_and_window_partition_forward(image, 2, high, wide, 3, 0, 3)
    merged = windows.window_merge_and_roll_forward(plain, 2, high, wide, 3, shift, 3)
    for y, x in itertools.product(range(high), range(wide)):
        close(merged[:, y, x], image[:, (y - shift) % high, (x - shift) % wide])
    close(windows.window_merge_and_roll_backward(merged, 2, high, wide, 3, shift, 3), plain)


def test_types() -> None:
    windows = module("window_process")
    for kind, wanted in ((torch.float16, torch.float16), (torch.bfloat16, torch.float32)):
        image = numbers(1, 4, 4, 2).to(kind)
        assert windows.roll_and_window_partition_forward(image, 1, 4, 4, 2, 1, 2).dtype == wanted
