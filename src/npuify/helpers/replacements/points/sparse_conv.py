# mypy: ignore-errors
"""Sparse convolution by pairs of places (spconv 1 as mmdetection3d has it): rules, convolution, pooling, and gradients.

Any number of dimensions; float16, float32 and float64. Rules come from sorting the places of all pairs, and the number
of results is asked of the device once, as in the kernel. Convolution takes one gather, one product and one sum for each
place of the kernel, whose counts the host asks for, as there.
"""

import torch


def _flat(places, shape):
    """Coordinates of (…, dimensions) as one number."""
    made = places[..., 0]
    for axis in range(1, len(shape)):
        made = made * shape[axis] + places[..., axis]
    return made


def _offsets(kernel, device):
    ranges = [torch.arange(one, device=device) for one in kernel]
    return torch.stack(torch.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, len(kernel))


def _rules(indices, shape, kernel, stride, padding, dilation, transposed):
    """For each place of the kernel and each input: the number of the output, and whether there is one."""
    offsets, at = _offsets(kernel, indices.device), indices[:, 1:].long()
    stride, padding, dilation = (
        torch.tensor([int(value) for value in one], device=indices.device) for one in (stride, padding, dilation)
    )
    size = torch.tensor([int(one) for one in shape], device=indices.device)
    if transposed:
        out = at * stride - padding + (offsets * dilation)[:, None]
        there = torch.ones_like(out[..., 0], dtype=torch.bool)
    else:
        moved = at + padding - (offsets * dilation)[:, None]
        out = torch.div(moved, stride, rounding_mode="floor")
        there = (out * stride == moved).all(-1)
    there = there & ((out >= 0) & (out < size)).all(-1)
    return _flat(out, shape) + indices[:, 0].long() * int(size.prod()), there


def _packed(inputs, outputs, there):
    """The pairs of each place of the kernel one behind the other, -1 behind them, and how many there are."""
    count = there.sum(1)
    order = (~there).to(torch.int8).argsort(dim=1, stable=True)
    known = torch.arange(there.shape[1], device=there.device) < count[:, None]
    pairs = torch.stack([inputs.expand_as(outputs).gather(1, order), outputs.gather(1, order)], 1)
    return torch.where(known[:, None], pairs, torch.full_like(pairs, -1)).int(), count.int()


def _pairs(indices, shape, kernel, stride, padding, dilation, submanifold, transposed):
    inputs = torch.arange(len(indices), device=indices.device)
    if submanifold:
        ones, half = [1] * len(kernel), [one // 2 for one in kernel]
        places, there = _rules(indices, shape, kernel, ones, half, dilation, False)
        volume = 1
        for one in shape:
            volume *= int(one)
        own = _flat(indices[:, 1:].long(), shape) + indices[:, 0].long() * volume
        ranked, order = own.sort()
        found = torch.searchsorted(ranked, places.reshape(-1)).clamp(max=max(0, len(own) - 1)).reshape(places.shape)
        if len(own):
            there = there & (ranked[found] == places)
            found = order[found]
        return [indices, *_packed(inputs, found, there)]
    places, there = _rules(indices, shape, kernel, stride, padding, dilation, transposed)
    results = places[there].unique()
    found = torch.searchsorted(results, places.reshape(-1)).clamp(max=max(0, len(results) - 1)).reshape(places.shape)
    coordinates, rest = [], results
    for one in reversed([int(one) for one in shape]):
        coordinates.append(rest % one)
        rest = torch.div(rest, one, rounding_mode="floor")
    out = torch.stack([rest, *reversed(coordinates)], 1).int()
    return [out, *_packed(inputs, found, there)]


def get_indice_pairs(
    indices,
    batchSize,
    outSpatialShape,
    spatialShape,
    kernelSize,
    stride,
    padding,
    dilation,
    outPadding,
    subM,
    transpose,
):
    """The places of results (n, 1 + dimensions), pairs of numbers (kernel, 2, inputs), and how many pairs there are.

    Results are in the order of their places, pairs in that of the inputs.
    """
    return _pairs(indices, outSpatialShape, kernelSize, stride, padding, dilation, bool(subM), bool(transpose))


def get_indice_pairs_grid(
    indices,
    gridOut,
    batchSize,
    outSpatialShape,
    spatialShape,
    kernelSize,
    stride,
    padding,
    dilation,
    outPadding,
    subM,
    transpose,
):
    """The same, with room that the kernel leaves as it was, and that is not needed here."""
    return _pairs(indices, outSpatialShape, kernelSize, stride, padding, dilation, bool(subM), bool(transpose))


def _each(pairs, counts, inverse, skip):
    """For each place of the kernel with pairs: its number, and the rows of both sides."""
    for place, count in enumerate(counts):
        if count > 0 and place != skip:
            rows = pairs[place, :, :count].long()
            yield place, rows[int(inverse)], rows[1 - int(inverse)]


def _convolved(features, filters, out, pairs, number, inverse, submanifold):
    filters = filters.reshape(-1, features.shape[1], filters.shape[-1])
    counts, centre = number.tolist(), -1
    if submanifold:
        # The place with most pairs has each input with itself.
        centre = counts.index(max(counts))
        out = features @ filters[centre]
    for place, source, target in _each(pairs, counts, inverse, centre):
        out = out.index_add(0, target, features[source] @ filters[place])
    return out


def indice_conv(features, filters, indicePairs, indiceNum, numActOut, inverse, subM):
    """(numActOut, channels)."""
    out = features.new_zeros(numActOut, filters.shape[-1])
    return _convolved(features, filters, out, indicePairs, indiceNum, inverse, subM)


def fused_indice_conv(features, filters, bias, indicePairs, indiceNum, numActOut, inverse, subM):
    """With a bias, which the kernel overwrites where ``subM`` is asked for."""
    out = features.new_zeros(numActOut, filters.shape[-1]) + bias
    return _convolved(features, filters, out, indicePairs, indiceNum, inverse, subM)


def indice_conv_backward(features, filters, outGrad, indicePairs, indiceNum, inverse, subM):
    """The gradients of features and filters."""
    flat = filters.reshape(-1, features.shape[1], filters.shape[-1])
    of_features, of_filters = torch.zeros_like(features), torch.zeros_like(flat)
    counts, centre = indiceNum.tolist(), -1
    if subM:
        centre = counts.index(max(counts))
        of_filters[centre] = features.t() @ outGrad
        of_features = outGrad @ flat[centre].t()
    for place, source, target in _each(indicePairs, counts, inverse, centre):
        grad = outGrad[target]
        of_filters[place] = features[source].t() @ grad
        of_features.index_add_(0, source, grad @ flat[place].t())
    return [of_features, of_filters.reshape(filters.shape)]


def indice_maxpool(features, indicePairs, indiceNum, numAct):
    """The largest of 0 and what comes together; (numAct, channels)."""
    out = features.new_zeros(numAct, features.shape[1])
    for _, source, target in _each(indicePairs, indiceNum.tolist(), False, -1):
        out[target] = torch.maximum(out[target], features[source])
    return out


def indice_maxpool_backward(features, outFeatures, outGrad, indicePairs, indiceNum):
    """To each feature that is as large as the result."""
    made = torch.zeros_like(features)
    for _, source, target in _each(indicePairs, indiceNum.tolist(), False, -1):
        same = features[source] == outFeatures[target]
        made.index_add_(0, source, outGrad[target] * same)
    return made
