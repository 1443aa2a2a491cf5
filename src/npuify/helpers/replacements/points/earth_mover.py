# mypy: ignore-errors
"""An approximate matching of two point sets, its cost and the gradient: the earth mover's distance of PyTorchEMD.

float32 and float64. The weights of all pairs are held, four times, of one set of the batch at a time, or of as many as
2**25 numbers allow; the kernel holds the matching only. The exponential is exact where the kernel takes the fast one.
"""

import torch

_AT_ONCE = 2**25


def _squared_distances(xyz1, xyz2):
    """(batch, points of the second, points of the first)."""
    result = None
    for axis in range(3):
        apart = (xyz2[:, :, None, axis] - xyz1[:, None, :, axis]) ** 2
        result = apart if result is None else result + apart
    return result


def _parts(xyz1, xyz2):
    return torch.arange(len(xyz1)).split(max(1, _AT_ONCE // max(1, xyz1.shape[1] * xyz2.shape[1])))


def approxmatch_forward(xyz1, xyz2):
    """(batch, n, 3) and (batch, m, 3) give how much of each point goes to each, (batch, m, n)."""
    made = [_matched(xyz1[part], xyz2[part]) for part in _parts(xyz1, xyz2)]
    return torch.cat(made) if made else xyz1.new_zeros(0, xyz2.shape[1], xyz1.shape[1])


def _matched(xyz1, xyz2):
    n, m = xyz1.shape[1], xyz2.shape[1]
    distance = _squared_distances(xyz1, xyz2)
    left = distance.new_full((len(xyz1), 1, n), 1 if n >= m else m // n)
    right = distance.new_full((len(xyz1), m, 1), n // m if n >= m else 1)
    match = torch.zeros_like(distance)
    for level in (*(-(4.0**power) for power in range(7, -2, -1)), 0.0):
        near = torch.exp(level * distance)
        share_left = left / ((near * right).sum(1, keepdim=True) + 1e-9)
        asked = (near * share_left).sum(2, keepdim=True) * right
        share_right = (right / (asked + 1e-9)).clamp(max=1) * right
        right = (right - asked).clamp(min=0)
        moved = near * share_left * share_right
        match = match + moved
        left = (left - moved.sum(1, keepdim=True)).clamp(min=0)
    return match


def matchcost_forward(xyz1, xyz2, match):
    """The sum of squared distances, each as often as it is matched: (batch)."""
    costs = [(_squared_distances(xyz1[p], xyz2[p]) * match[p]).sum((1, 2)) for p in _parts(xyz1, xyz2)]
    return torch.cat(costs) if costs else xyz1.new_zeros(0)


def matchcost_backward(grad_cost, xyz1, xyz2, match):
    """The gradients of both sets; the matching counts as given."""
    of_1, of_2 = [], []
    for axis in range(3):
        pull = (xyz1[:, None, :, axis] - xyz2[:, :, None, axis]) * match * (2 * grad_cost[:, None, None])
        of_1.append(pull.sum(1))
        of_2.append(-pull.sum(2))
    return [torch.stack(of_1, -1), torch.stack(of_2, -1)]
