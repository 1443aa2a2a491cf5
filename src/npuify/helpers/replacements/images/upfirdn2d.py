# mypy: ignore-errors
"""Upsample by inserting zeros, pad or crop, convolve with a filter, and keep each n-th sample, of two dimensions.

Any sizes, factors and paddings, negative ones too; the filter is as large as what it is laid on, or smaller. float16
adds up in the precision of the device's convolution. With the factors ``up`` the filled-up image is held in memory,
``up_x * up_y`` times as large as the input; the kernel does not hold it.
"""

from torch.nn import functional


def upfirdn2d(input, kernel, up_x, up_y, down_x, down_y, pad_x0, pad_x1, pad_y0, pad_y1):
    """(batch, height, width, minor) and a filter (rows, columns) give (batch, new height, new width, minor)."""
    batch, height, width, minor = input.shape
    rows, columns = kernel.shape
    planes = input.permute(0, 3, 1, 2).reshape(batch * minor, 1, height, 1, width, 1)
    planes = functional.pad(planes, (0, up_x - 1, 0, 0, 0, up_y - 1))
    planes = planes.reshape(batch * minor, 1, height * up_y, width * up_x)
    planes = functional.pad(planes, (pad_x0, pad_x1, pad_y0, pad_y1))
    turned = kernel.to(planes.dtype).flip((0, 1)).reshape(1, 1, rows, columns)
    planes = functional.conv2d(planes, turned, stride=(down_y, down_x))
    return planes.reshape(batch, minor, *planes.shape[2:]).permute(0, 2, 3, 1).contiguous()
