# mypy: ignore-errors
"""The mean squared distance of each point to its three nearest others, by which Gaussian splatting sizes its Gaussians.

float32, points of three dimensions. The distances of all pairs are computed, in slices of at most 2**25 numbers, where
the kernel sorts the points into boxes and leaves out those that are too far: the cost grows with the square of the
number of points. With fewer than three others the largest float stands for what is missing, as in the kernel.
"""

import torch

_AT_ONCE = 2**25
_LARGEST = 3.4028234663852886e38


def mean_of_three(points):
    """(points, 3) gives (points), float32."""
    points = points.float()
    number = len(points)
    step = max(1, _AT_ONCE // max(1, number))
    place = torch.arange(number, device=points.device)
    means = [_mean(points, part) for part in place.split(step)]
    return torch.cat(means) if means else points.new_zeros(0)


def _mean(points, part):
    distance = None
    for axis in range(3):
        apart = (points[:, axis] - points[part, axis, None]) ** 2
        distance = apart if distance is None else distance + apart
    distance = distance.scatter(1, part[:, None], _LARGEST)
    if len(points) < 3:
        distance = torch.nn.functional.pad(distance, (0, 3 - len(points)), value=_LARGEST)
    nearest = distance.clamp(max=_LARGEST).topk(3, dim=1, largest=False, sorted=True).values
    return (nearest[:, 0] + nearest[:, 1] + nearest[:, 2]) / 3
