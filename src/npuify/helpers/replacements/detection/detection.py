# mypy: ignore-errors
"""Operators of detectors with boxes: suppression, pooling of regions, the focal loss; as maskrcnn-benchmark has them.

Boxes are in whole pixels (a box from 0 to 0 is one pixel wide), and region align has no offset of half a pixel. float32
and float64. ``nms`` holds the overlaps of all pairs, and asks the device once for each link of a chain of boxes that
suppress each other. Region align is two products of matrices: on ``R`` regions with ``P`` rows, and maps of
(batch, channels, height, width), they hold ``R * P * channels * width`` numbers. Region pooling works in slices.
"""

import torch

_AT_ONCE = 2**25
_LARGEST = 3.4028234663852886e38
_SMALLEST = 1.1754943508222875e-38


# --- suppression ---


def nms(dets, scores, threshold):
    """The places of the boxes (x1, y1, x2, y2) that stay, in rising order: none overlaps a better one that stays."""
    if dets.numel() == 0:
        return torch.empty(0, dtype=torch.long)
    order = scores.sort(dim=0, descending=True, stable=True).indices
    kept = _kept(_overlaps(dets[order], 1) > threshold)
    return order[kept].sort(0).values


def nms_with_scores(dets, threshold):
    """``nms`` for boxes and scores in one tensor of (n, 5)."""
    return nms(dets[:, :4], dets[:, 4], threshold) if len(dets) else torch.empty(0, dtype=torch.long)


def _overlaps(boxes, one):
    """The share of intersection in union of each pair; ``one`` is the width of a box whose ends are equal."""
    left_top = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    right_bottom = torch.minimum(boxes[:, None, 2:4], boxes[None, :, 2:4])
    sides = (right_bottom - left_top + one).clamp(min=0)
    common = sides[..., 0] * sides[..., 1]
    area = (boxes[:, 2] - boxes[:, 0] + one) * (boxes[:, 3] - boxes[:, 1] + one)
    return common / (area[:, None] + area[None, :] - common)


def _kept(suppresses):
    """Which boxes stay, where ``suppresses[i, j]`` says that two are too close, and the earlier is the better one.

    A box stays if no earlier box that stays is too close. From the first on, each pass settles at least one more link.
    """
    before = suppresses.tril(-1).float()
    kept = torch.ones(len(suppresses), device=suppresses.device)
    while True:
        now = (before @ kept == 0).float()
        if torch.equal(now, kept):
            return kept > 0
        kept = now


# --- pooling of regions ---


def roi_align_forward(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    """(batch, channels, height, width) and regions (image, x1, y1, x2, y2) give (regions, channels, rows, columns)."""
    batch, channels, height, width = input.shape
    down, right = _shares(rois, spatial_scale, pooled_height, pooled_width, batch, height, width, sampling_ratio)
    maps = input.permute(0, 2, 1, 3).reshape(batch * height, channels * width)
    rows = (down.to(input.dtype) @ maps).reshape(len(rois), pooled_height, channels, width)
    return torch.matmul(rows.transpose(1, 2), right.to(input.dtype).transpose(1, 2)[:, None])


def roi_align_backward(
    grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width, sampling_ratio
):
    """The gradient of the maps."""
    down, right = _shares(rois, spatial_scale, pooled_height, pooled_width, batch_size, height, width, sampling_ratio)
    rows = torch.matmul(grad, right.to(grad.dtype)[:, None]).transpose(1, 2)
    maps = down.to(grad.dtype).t() @ rows.reshape(len(rois) * pooled_height, channels * width)
    return maps.reshape(batch_size, height, channels, width).permute(0, 2, 1, 3).contiguous()


def roi_align_forward_into(features, rois, pooled_height, pooled_width, spatial_scale, sample_num, output):
    """As mmdetection had it: a region ends behind its last pixel, and may be thinner than one. Into ``output``."""
    batch, channels, height, width = features.shape
    down, right = _shares(rois, spatial_scale, pooled_height, pooled_width, batch, height, width, sample_num, 1, 0)
    maps = features.permute(0, 2, 1, 3).reshape(batch * height, channels * width)
    rows = (down.to(features.dtype) @ maps).reshape(len(rois), pooled_height, channels, width)
    output.copy_(torch.matmul(rows.transpose(1, 2), right.to(features.dtype).transpose(1, 2)[:, None]))
    return 1


def roi_align_backward_into(top_grad, rois, pooled_height, pooled_width, spatial_scale, sample_num, bottom_grad):
    """The gradient of the maps is added to ``bottom_grad``."""
    batch, channels, height, width = bottom_grad.shape
    down, right = _shares(rois, spatial_scale, pooled_height, pooled_width, batch, height, width, sample_num, 1, 0)
    rows = torch.matmul(top_grad, right.to(top_grad.dtype)[:, None]).transpose(1, 2)
    maps = down.to(top_grad.dtype).t() @ rows.reshape(len(rois) * pooled_height, channels * width)
    bottom_grad += maps.reshape(batch, height, channels, width).permute(0, 2, 1, 3)
    return 1


def _shares(rois, scale, rows, columns, batch, height, width, samples, behind=0, least=1):
    """What each row of a map gives to each row of a region, and what each column gives to each column."""
    number = len(rois)
    down = _along(rois[:, 2] * scale, (rois[:, 4] + behind) * scale, rows, height, samples, least)
    right = _along(rois[:, 1] * scale, (rois[:, 3] + behind) * scale, columns, width, samples, least)
    own = (rois[:, :1].long() == torch.arange(batch, device=rois.device)).to(down.dtype)
    down = down[:, :, None, :] * own[:, None, :, None]
    return down.reshape(number * rows, batch * height), right


def _along(start, end, cells, size, samples, least):
    """(regions, cells, size): the mean, over the samples of a cell, of the share that each place has in a sample."""
    length = (end - start).clamp(min=least)
    cell = length / cells
    each = torch.full_like(length, samples) if samples > 0 else (length / cells).ceil()
    most = samples if samples > 0 else max(1, int(each.max())) if len(each) else 1
    at = torch.arange(most, device=start.device, dtype=start.dtype)
    first = start[:, None] + torch.arange(cells, device=start.device, dtype=start.dtype) * cell[:, None]
    place = first[..., None] + ((at + 0.5) * cell[:, None] / each[:, None])[:, None]
    counts = (at < each[:, None])[:, None] & (place >= -1) & (place <= size)
    place = place.clamp(min=0, max=size - 1)
    share = (1 - (place[..., None] - torch.arange(size, device=start.device)).abs()).clamp(min=0)
    return (share * counts[..., None]).sum(2) / each[:, None, None]


def roi_pool_forward(input, rois, spatial_scale, pooled_height, pooled_width):
    """The largest value in each cell of each region, and where it is in its map (-1 in an empty cell)."""
    channels, height, width = input.shape[1:]
    ends = [_half_up(rois[:, one] * spatial_scale) for one in range(1, 5)]
    rows = _cells(ends[1], ends[3], pooled_height, height, input.dtype)
    columns = _cells(ends[0], ends[2], pooled_width, width, input.dtype)
    values, places = [], []
    step = max(1, _AT_ONCE // max(1, channels * height * width * pooled_width))
    for part in torch.arange(len(rois), device=rois.device).split(step):
        value, place = _largest(input[rois[part, 0].long()], rows[part], columns[part])
        values.append(value)
        places.append(place)
    if not values:
        empty = input.new_empty(0, channels, pooled_height, pooled_width)
        return empty, empty.int()
    return torch.cat(values), torch.cat(places).int()


def roi_pool_forward_into(features, rois, pooled_height, pooled_width, spatial_scale, output, argmax):
    """As mmdetection had it: a region ends behind its last pixel, and nothing is rounded before cells are."""
    channels, height, width = features.shape[1:]
    rows = _cells_between(rois[:, 2] * spatial_scale, (rois[:, 4] + 1) * spatial_scale, pooled_height, height)
    columns = _cells_between(rois[:, 1] * spatial_scale, (rois[:, 3] + 1) * spatial_scale, pooled_width, width)
    there = ((rois[:, 3] + 1 > rois[:, 1]) & (rois[:, 4] + 1 > rois[:, 2])).reshape(-1, 1, 1, 1)
    step = max(1, _AT_ONCE // max(1, channels * height * width * pooled_width))
    for part in torch.arange(len(rois), device=rois.device).split(step):
        value, place = _largest(features[rois[part, 0].long()], rows[part], columns[part])
        output[part] = torch.where(there[part], value, output[part])
        argmax[part] = torch.where(there[part], place.to(argmax.dtype), argmax[part])
    return 1


def _cells_between(start, end, cells, size):
    """(regions, cells, size): whether a place belongs to a cell, however little of it."""
    cell = ((end - start) / cells)[:, None]
    at = torch.arange(cells, device=start.device, dtype=start.dtype)
    low = (at * cell + start[:, None]).floor().clamp(0, size)
    high = ((at + 1) * cell + start[:, None]).ceil().clamp(0, size)
    place = torch.arange(size, device=start.device)
    return (place >= low[..., None]) & (place < high[..., None])


def roi_pool_backward_into(top_grad, rois, argmax, spatial_scale, bottom_grad):
    """The gradient of the maps is added to ``bottom_grad``; that of empty cells goes nowhere."""
    bottom_grad += roi_pool_backward(
        top_grad, None, rois, argmax, spatial_scale, *top_grad.shape[2:], *bottom_grad.shape
    )
    return 1


def _half_up(x):
    """Halves go away from zero, as C's ``round`` takes them."""
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


def _cells(start, end, cells, size, dtype):
    """(regions, cells, size): whether a place belongs to a cell."""
    length = (end - start + 1).clamp(min=1)
    cell = (length / cells).to(dtype)
    at = torch.arange(cells, device=start.device, dtype=dtype)
    low = ((at * cell[:, None]).floor() + start[:, None]).clamp(0, size)
    high = (((at + 1) * cell[:, None]).ceil() + start[:, None]).clamp(0, size)
    place = torch.arange(size, device=start.device)
    return (place >= low[..., None]) & (place < high[..., None])


def _largest(maps, rows, columns):
    """Of (regions, channels, height, width), row by row and then over rows, so that the first of equals counts."""
    width = maps.shape[3]
    low = torch.full((), -_LARGEST, dtype=maps.dtype, device=maps.device)
    inside = torch.where(columns[:, None, None], maps[:, :, :, None], low)
    value, column = inside.max(-1)
    inside = torch.where(rows[:, None, :, None], value.transpose(2, 3)[:, :, None], low)
    value, row = inside.max(-1)
    column = column.gather(2, row)
    some = rows.any(-1)[:, None, :, None] & columns.any(-1)[:, None, None]
    place = torch.where(value > -_LARGEST, row * width + column, torch.full_like(row, -1))
    return torch.where(some, value, torch.zeros_like(value)), torch.where(some, place, torch.full_like(place, -1))


def roi_pool_backward(
    grad, input, rois, argmax, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width
):
    """The gradient of the maps."""
    image = rois[:, 0].long().reshape(-1, 1, 1, 1)
    channel = torch.arange(channels, device=grad.device).reshape(-1, 1, 1)
    there = argmax >= 0
    place = (image * channels + channel) * (height * width) + argmax.long().clamp(min=0)
    result = grad.new_zeros(batch_size * channels * height * width)
    result.index_add_(0, place.reshape(-1), torch.where(there, grad, torch.zeros_like(grad)).reshape(-1))
    return result.reshape(batch_size, channels, height, width)


# --- the focal loss ---


def sigmoid_focalloss_forward(logits, targets, num_classes, gamma, alpha):
    """The loss of each class: the first has the target 1; targets below 0 count for nothing."""
    is_class, is_other, p, log_rest = _of_classes(logits, targets, num_classes)
    hit = (1 - p) ** gamma * p.clamp(min=_SMALLEST).log()
    return -is_class * hit * alpha - is_other * p**gamma * log_rest * (1 - alpha)


def sigmoid_focalloss_backward(logits, targets, d_losses, num_classes, gamma, alpha):
    """The gradient of the logits."""
    is_class, is_other, p, log_rest = _of_classes(logits, targets, num_classes)
    hit = (1 - p) ** gamma * (1 - p - p * gamma * p.clamp(min=_SMALLEST).log())
    other = p**gamma * (log_rest * (1 - p) * gamma - p)
    return (-is_class * hit * alpha - is_other * other * (1 - alpha)) * d_losses


def _of_classes(logits, targets, num_classes):
    classes = torch.arange(1, num_classes + 1, device=logits.device)
    target = targets.reshape(-1, 1)
    is_class = (target == classes).to(logits.dtype)
    is_other = ((target >= 0) & (target != classes)).to(logits.dtype)
    positive = (logits >= 0).to(logits.dtype)
    log_rest = -logits * positive - torch.log(1 + torch.exp(logits - 2 * logits * positive))
    return is_class, is_other, torch.sigmoid(logits), log_rest
