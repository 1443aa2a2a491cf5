"""What ``kernel_replacements.py`` measures of families whose plain form is a few lines: one case for each.

A case gives the replacement and the plain form, two functions with the same results.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from npuify.helpers import kernel_module

if TYPE_CHECKING:
    from collections.abc import Callable

    Case = tuple[Callable[[], Any], Callable[[], Any]]


def module(family: str) -> Any:
    """A module of ``helpers/replacements``."""
    return importlib.import_module(f"npuify.helpers.{kernel_module(family)}")


def into(function: Any, out: Any) -> Any:
    """A function that writes into ``out``, as one that gives it."""

    def run() -> Any:
        function(out)
        return out

    return run


def attention_softmax() -> Case:
    scores = torch.randn(4096, 512)
    forward = module("attention_softmax").forward_

    def run() -> Any:
        made = scores.clone()
        forward(made, 4096, 512)
        return made

    return run, lambda: torch.softmax(scores, -1)


def auction() -> Case:
    """Ten rounds, beside ten tables of all distances."""
    one, two = torch.rand(1, 1024, 3), torch.rand(1, 1024, 3)

    def run() -> Any:
        whole = torch.full((1, 1024), -1, dtype=torch.int32)
        rest = [torch.zeros(1)] * 8
        price, inverse = torch.zeros(1, 1024), whole.clone()
        module("auction").emd_forward(one, two, torch.zeros(1, 1024), whole, price, inverse, *rest, 0.005, 10)
        return torch.tensor(0.0)

    def plain() -> Any:
        for _ in range(10):
            torch.cdist(one, two).topk(2, largest=False)
        return torch.tensor(0.0)

    return run, plain


def bilateral_filter() -> Case:
    """Against the window of each voxel unfolded."""
    volume = torch.rand(1, 1, 24, 24, 24)

    def plain() -> Any:
        around = functional.pad(volume, (2,) * 6).unfold(2, 5, 1).unfold(3, 5, 1).unfold(4, 5, 1)
        there = functional.pad(torch.ones_like(volume), (2,) * 6).unfold(2, 5, 1).unfold(3, 5, 1).unfold(4, 5, 1)
        steps = torch.arange(-2.0, 3) ** 2
        far = steps[:, None, None] + steps[:, None] + steps
        weight = there * torch.exp(-(far + (around - volume[..., None, None, None]) ** 2) / 2)
        return (weight * around).sum((5, 6, 7)) / weight.sum((5, 6, 7))

    return lambda: module("bilateral_filter").forward_3d(volume, 1.0, 1.0, 1.0, 1.0)[0], plain


def boxes_bev() -> Case:
    """Boxes that are not turned, against their sides."""
    boxes = torch.cat([torch.rand(300, 2) * 20, torch.zeros(300, 1), torch.rand(300, 3) + 1, torch.zeros(300, 1)], 1)
    low, high = boxes[:, :2] - boxes[:, 3:5] / 2, boxes[:, :2] + boxes[:, 3:5] / 2

    def plain() -> Any:
        sides = torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)
        return sides.clamp(min=0).prod(-1)

    return into(lambda out: module("boxes_bev").boxes_overlap_bev(boxes, boxes, out), torch.zeros(300, 300)), plain


def carafe() -> Case:
    """Against unfold and interpolate."""
    maps, masks = torch.randn(2, 64, 32, 32), torch.rand(2, 25, 64, 64)

    def plain() -> Any:
        around = functional.unfold(maps, 5, padding=2).reshape(2, 64 * 25, 32, 32)
        around = functional.interpolate(around, scale_factor=2).reshape(2, 64, 25, 64, 64)
        return (around * masks[:, None]).sum(2)

    function = module("carafe").forward_naive
    return into(lambda out: function(maps, masks, 5, 1, 2, out), torch.zeros(2, 64, 64, 64)), plain


def correlation_lookup() -> Case:
    """Coordinates in the middle of pixels, against the shifted volume."""
    volume = torch.randn(2, 24, 32, 32)
    coords = torch.arange(32.0).expand(2, 1, 24, 32).contiguous()

    def plain() -> Any:
        padded = functional.pad(volume, (4, 5))
        places = torch.arange(32)[:, None] + torch.arange(9)
        return padded.gather(3, places.expand(2, 24, 32, 9)).permute(0, 3, 1, 2)

    def run() -> Any:
        return module("correlation_lookup").sampler_forward(volume, coords, 4)[0]

    return run, plain


def cross_entropy() -> Case:
    logits, labels = torch.randn(2048, 8000), torch.randint(0, 8000, (2048,))

    def run() -> Any:
        losses, normalizer = module("cross_entropy").forward_smoothed(logits, labels, 0.1, False)
        return module("cross_entropy").backward_smoothed(torch.ones_like(losses), logits, normalizer, labels, 0.1)

    def plain() -> Any:
        given = logits.clone().requires_grad_()
        loss = functional.cross_entropy(given, labels, reduction="sum", label_smoothing=0.1)
        return torch.autograd.grad(loss, given)[0]

    return run, plain


def earth_mover() -> Case:
    """The cost of a matching, against cdist."""
    one, two, match = torch.rand(4, 512, 3), torch.rand(4, 512, 3), torch.rand(4, 512, 512)
    return (
        lambda: module("earth_mover").matchcost_forward(one, two, match),
        lambda: (torch.cdist(two, one).square() * match).sum((1, 2)),
    )


def encoders() -> Case:
    """Frequencies, against sines and cosines of whole tensors."""
    points = torch.rand(100_000, 3)

    def plain() -> Any:
        waves = [one for power in range(6) for one in (torch.sin(points * 2**power), torch.cos(points * 2**power))]
        return torch.cat([points, *waves], 1)

    function = module("encoders").freq_encode_forward
    return into(lambda out: function(points, 100_000, 3, 6, 39, out), torch.zeros(100_000, 39)), plain


def expert_routing() -> Case:
    gate, rows, weight = torch.randint(0, 16, (8192,)), torch.randn(8192, 128), torch.randn(16, 256, 128)
    count = torch.bincount(gate, minlength=16)
    function = module("expert_routing").linear_forward

    def run() -> Any:
        order = torch.empty(8192, dtype=torch.long)
        module("expert_routing").assign_pos(count.cumsum(0).int(), gate, order)
        made = torch.empty(8192, 256)
        made[order] = function(rows[order], count, weight)
        return made

    def plain() -> Any:
        made = torch.zeros(8192, 256)
        for expert in range(16):
            chosen = gate == expert
            made[chosen] = rows[chosen] @ weight[expert].t()
        return made

    return run, plain


def flow() -> Case:
    """Correlation, against a shifted product for each displacement."""
    one, two = torch.randn(1, 32, 32, 32), torch.randn(1, 32, 32, 32)

    def plain() -> Any:
        padded = functional.pad(two, (4, 4, 4, 4))
        made = [(one * padded[:, :, y : y + 32, x : x + 32]).mean(1) for y in range(9) for x in range(9)]
        return torch.stack(made, 1)

    def run() -> Any:
        out, first, second = torch.zeros(1), torch.zeros(1), torch.zeros(1)
        module("flow").correlation_forward(one, two, first, second, out, 4, 1, 4, 1, 1, 1)
        return out

    return run, plain


def forward_warp() -> Case:
    """Pixels that stay, against a copy; the last of each axis have no neighbour, and are left out."""
    image, way = torch.randn(4, 8, 64, 64), torch.zeros(4, 64, 64, 2)
    inner = functional.pad(torch.ones(63, 63), (0, 1, 0, 1))
    return lambda: module("forward_warp").forward(image, way, 0), lambda: image * inner


def fused_bias_act() -> Case:
    image, bias, nothing = torch.randn(4, 64, 64, 64), torch.randn(64), torch.empty(0)

    def plain() -> Any:
        return functional.leaky_relu(image + bias[:, None, None], 0.2) * 2**0.5

    function = module("fused_bias_act").fused_bias_act
    return lambda: function(image, bias, nothing, 3, 0, 0.2, 2**0.5), plain


def gated_activations() -> Case:
    """SwiGLU, against silu and a product."""
    given = torch.randn(512, 8192)

    def plain() -> Any:
        gate, up = given.chunk(2, -1)
        return functional.silu(gate) * up

    function = module("gated_activations").silu_and_mul
    return into(lambda out: function(out, given), torch.zeros(512, 4096)), plain


def gptq_matmul() -> Case:
    """Four bits of a row of 2048, against the numbers unpacked before."""
    packed = torch.randint(-(2**31), 2**31, (256, 2048)).int()
    scales, zeros, given = torch.rand(2048, 1), torch.rand(2048, 1), torch.randn(1, 2048)
    unpacked = (packed[:, None] >> torch.arange(0, 32, 4)[:, None] & 15).reshape(2048, 2048).float()

    def plain() -> Any:
        return given @ (unpacked * scales[:, 0] - zeros[:, 0])

    def run() -> Any:
        out = torch.zeros(1, 2048)
        module("gptq_matmul").vecquant4matmul(given, packed, out, scales, zeros)
        return out

    return run, plain


def hadamard() -> Case:
    rows, matrix = torch.randn(512, 1024), torch.ones(1, 1)
    while len(matrix) < 1024:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return lambda: module("hadamard").fast_hadamard_transform(rows, 1.0), lambda: rows @ matrix


def masked_conv() -> Case:
    """All places of an image, against unfold."""
    image = torch.randn(1, 32, 64, 64)
    rows, columns = (one.flatten() for one in torch.meshgrid(torch.arange(64), torch.arange(64), indexing="ij"))
    function = module("masked_conv").masked_im2col_forward
    out = torch.zeros(32 * 9, 64 * 64)
    return into(lambda out: function(image, rows, columns, 3, 3, 1, 1, out), out), lambda: functional.unfold(
        image, 3, padding=1
    )[0]


def multi_tensor() -> Case:
    """A step of Adam, against torch's."""
    lists = [[torch.rand(512, 512) for _ in range(8)] for _ in range(2)]
    flag = torch.zeros(1, dtype=torch.int32)

    def run() -> Any:
        grads, params = lists[0], [one.clone() for one in lists[1]]
        given = [grads, params, *([torch.zeros_like(one) for one in grads] for _ in range(2))]
        module("multi_tensor").multi_tensor_adam(2**16, flag, given, 0.1, 0.9, 0.999, 1e-8, 1, 1, 1, 0.01)
        return params[0]

    def plain() -> Any:
        params = [one.clone().requires_grad_() for one in lists[1]]
        for one, grad in zip(params, lists[0], strict=True):
            one.grad = grad
        torch.optim.AdamW(params, 0.1, weight_decay=0.01).step()
        return params[0].detach()

    return run, plain


def nearest_points() -> Case:
    """Against cdist and topk."""
    one, two = torch.rand(3, 2048), torch.rand(3, 1024)

    def plain() -> Any:
        return torch.cdist(one.t(), two.t()).topk(8, dim=0, largest=False).values

    return lambda: module("nearest_points").knn(one, two, 8)[0], plain


def ngram_block() -> Case:
    """Against a loop over hypotheses and times."""
    tokens, scores = torch.randint(0, 30, (16, 200)), torch.randn(16, 1000)

    def plain() -> Any:
        made = scores.clone()
        for row in range(16):
            last = tokens[row, 198:200].tolist()
            for at in range(198):
                if tokens[row, at : at + 2].tolist() == last:
                    made[row, tokens[row, at + 2]] = float("-inf")
        return made.clamp(min=-9)

    def run() -> Any:
        return module("ngram_block").forward(tokens, scores.clone(), 4, 199, 4, 3).clamp(min=-9)

    return run, plain


def point_grids() -> Case:
    """A point for each cell, against average pooling of the grid times its coordinates."""
    grid = torch.rand(2, 32**3) + 0.1

    def plain() -> Any:
        cube = grid.reshape(2, 1, 32, 32, 32)
        at = torch.stack(torch.meshgrid(*[torch.arange(32.0) - 16] * 3, indexing="ij"))
        made = functional.avg_pool3d(cube * at, 2, 1) / functional.avg_pool3d(cube, 2, 1)
        return functional.pad(made, (1, 0, 1, 0, 1, 0)).flatten(2).transpose(1, 2)

    return lambda: module("point_grids").rev_forward(32, grid), plain


def point_groups() -> Case:
    """The mean of segments, against splitting."""
    values, ends = torch.randn(100_000, 32), torch.arange(0, 100_001, 500, dtype=torch.int32)
    return (
        into(lambda out: module("point_groups").sec_mean(values, ends, out, 200, 32), torch.zeros(200, 32)),
        lambda: torch.stack([part.mean(0) for part in values.split(500)]),
    )


def point_sets() -> Case:
    """The three nearest, against cdist and topk."""
    one, two = torch.rand(4, 1024, 3), torch.rand(4, 256, 3)

    def plain() -> Any:
        return torch.cdist(one, two).square().topk(3, largest=False).values

    return lambda: module("point_sets").three_nn(one, two)[0], plain


def point_voxels() -> Case:
    """The mean by cell, against index_add."""
    features, coords = torch.randn(4, 32, 4096), torch.randint(0, 8, (4, 3, 4096)).int()

    def plain() -> Any:
        cell = (coords[:, 0].long() * 8 + coords[:, 1]) * 8 + coords[:, 2] + torch.arange(4)[:, None] * 512
        rows = features.transpose(1, 2).reshape(-1, 32)
        total = torch.zeros(4 * 512, 32).index_add(0, cell.flatten(), rows)
        count = torch.bincount(cell.flatten(), minlength=4 * 512).clamp(min=1)
        return (total / count[:, None]).reshape(4, 512, 32).transpose(1, 2)

    return lambda: module("point_voxels").avg_voxelize_forward(features, coords, 8)[0], plain


def points_in_boxes() -> Case:
    """Boxes that are not turned, against their sides."""
    boxes = torch.cat([torch.rand(50, 3) * 10, torch.rand(50, 3) + 0.5, torch.zeros(50, 1)], 1)
    points = torch.rand(20_000, 3) * 10
    out = torch.zeros(50, 20_000, dtype=torch.int32)

    def plain() -> Any:
        apart, half = (points - boxes[:, None, :3]).abs(), boxes[:, None, 3:6] / 2
        flat = (apart[..., :2] < half[..., :2] + 1e-2).all(-1)
        return (flat & (apart[..., 2] <= half[..., 2])).int()

    return into(lambda out: module("points_in_boxes").points_in_boxes_cpu(boxes, points, out), out), plain


def polygon_nms() -> Case:
    """Boxes that are not turned, against their sides and a loop."""
    low, scores = torch.rand(400, 2) * 20, torch.rand(400)
    high = low + torch.rand(400, 2) * 3 + 1
    corners = [low, torch.stack([high[:, 0], low[:, 1]], 1), high, torch.stack([low[:, 0], high[:, 1]], 1)]
    given = torch.cat([*corners, scores[:, None]], 1)

    def plain() -> Any:
        sides = (torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)).clamp(min=0)
        common, size = sides.prod(-1), (high - low).prod(-1)
        near = (common / (size[:, None] + size - common) > 0.3).tolist()
        kept: list[int] = []
        for place in scores.argsort(descending=True).tolist():
            if not any(near[place][other] for other in kept):
                kept.append(place)
        return torch.tensor(sorted(kept)).float()

    return lambda: module("polygon_nms").poly_nms(given, 0.3).float(), plain


def psroi() -> Case:
    """Regions of whole bins without offsets, against their means."""
    maps = torch.randn(1, 8 * 49, 56, 56)
    corner = torch.arange(100) % 42
    rois = torch.stack([torch.zeros(100), corner, corner, corner + 13, corner + 13], 1).float()
    given = (rois, torch.empty(0), 1, 1.0, 8, 7, 7, 7, 2, 0.0)

    def plain() -> Any:
        steps = (torch.arange(14) * 1.0)[None] + rois[:, 1:2] - 0.5
        steps = steps.clamp(0, 55)
        grid = steps * 2 / 55 - 1
        places = torch.stack([grid[:, None].expand(-1, 14, -1), grid[:, :, None].expand(-1, -1, 14)], -1)
        made = functional.grid_sample(maps, places.reshape(1, 1400, 14, 2), align_corners=True)
        made = functional.avg_pool2d(made.reshape(8, 49, 100, 14, 14).permute(2, 0, 1, 3, 4).flatten(0, 1), 2)
        cell = torch.arange(49).reshape(7, 7)
        return made.gather(1, cell.expand(800, 1, 7, 7)).reshape(100, 8, 7, 7)

    return lambda: module("psroi").dcn_v2_psroi_pooling_forward(maps, *given)[0], plain


def ray_volumes() -> Case:
    """Volume rendering of 64 samples on each ray, against a product along a table."""
    rays, steps = 2000, 64
    sigmas, rgbs, deltas = torch.rand(rays * steps), torch.rand(rays * steps, 3), torch.rand(rays * steps) * 0.1
    ts, place = torch.rand(rays * steps), torch.arange(rays)
    which = torch.stack([place, place * steps, torch.full_like(place, steps)], 1)

    def table() -> Any:
        alpha = 1 - torch.exp(-(sigmas * deltas).reshape(rays, steps))
        left = torch.cat([torch.ones(rays, 1), (1 - alpha).cumprod(1)[:, :-1]], 1)
        return ((alpha * left)[..., None] * rgbs.reshape(rays, steps, 3)).sum(1)

    return lambda: module("ray_volumes").composite_train_fw(sigmas, rgbs, deltas, ts, which, 0.0)[3], table


def rotary_embedding() -> Case:
    given, angles = torch.randn(512, 4, 8, 64), torch.randn(512, 1, 1, 64)

    def plain() -> Any:
        turned = torch.cat([-given[..., 32:], given[..., :32]], -1)
        return given * angles.cos() + turned * angles.sin()

    return lambda: module("rotary_embedding").forward(given, angles, False), plain


def rotated_boxes() -> Case:
    """Boxes that are not turned, against their sides."""
    boxes = torch.cat([torch.rand(300, 2) * 20, torch.rand(300, 2) + 1, torch.zeros(300, 1)], 1)
    low, high = boxes[:, :2] - boxes[:, 2:4] / 2, boxes[:, :2] + boxes[:, 2:4] / 2

    def plain() -> Any:
        sides = (torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)).clamp(min=0)
        common, size = sides.prod(-1), boxes[:, 2] * boxes[:, 3]
        return common / (size[:, None] + size - common)

    return lambda: module("rotated_boxes").box_iou_rotated(boxes, boxes), plain


def rotated_regions() -> Case:
    """Regions that are not turned, against grid_sample and a mean."""
    maps = torch.rand(1, 64, 50, 50)
    rois = torch.cat([torch.zeros(100, 1), torch.rand(100, 2) * 20 + 15, torch.rand(100, 2) * 10 + 5], 1)
    rois = torch.cat([rois, torch.zeros(100, 1)], 1)

    def plain() -> Any:
        steps = (torch.arange(14) + 0.5) / 14 - 0.5
        x = rois[:, 1:2] - 0.5 + rois[:, 3:4] * steps
        y = rois[:, 2:3] - 0.5 + rois[:, 4:5] * steps
        grid = torch.stack([x[:, None].expand(-1, 14, -1), y[:, :, None].expand(-1, -1, 14)], -1) * 2 / 49 - 1
        made = functional.grid_sample(maps, grid.reshape(1, 1400, 14, 2), align_corners=True)
        return functional.avg_pool2d(made.reshape(64, 100, 14, 14).transpose(0, 1), 2)

    return lambda: module("rotated_regions").roi_align_rotated_forward(maps, rois, 1.0, 7, 7, 2), plain


def sparse_conv() -> Case:
    """A fifth of all cells, against the dense convolution."""
    cells = torch.stack(torch.meshgrid(*[torch.arange(one) for one in (2, 16, 16, 16)], indexing="ij"), -1)
    places = cells.reshape(-1, 4)[torch.randperm(8192)[:1600]].int()
    features, filters = torch.randn(1600, 32), torch.randn(3, 3, 3, 32, 32)
    given = (places, 2, [16] * 3, [16] * 3, [3] * 3, [1] * 3, [1] * 3, [1] * 3, [0] * 3, 1, 0)

    def run() -> Any:
        _, pairs, number = module("sparse_conv").get_indice_pairs(*given)
        return module("sparse_conv").indice_conv(features, filters, pairs, number, 1600, 0, 1)

    def plain() -> Any:
        at = tuple(places.long().t())
        dense = torch.zeros(2, 16, 16, 16, 32).index_put(at, features).movedim(-1, 1)
        return functional.conv3d(dense, filters.permute(4, 3, 0, 1, 2), padding=1).movedim(1, -1)[at]

    return run, plain


def scatter() -> Case:
    """Sums, against index_add."""
    values, index = torch.randn(20000, 64), torch.randint(0, 500, (20000,))
    function = module("scatter").scatter_sum
    plain = torch.zeros(500, 64)
    return lambda: function(values, index, 0, None, 500), lambda: plain.index_add(0, index, values)


def splatting() -> Case:
    """Pixels that stay, against a copy."""
    frame, way = torch.randn(4, 8, 64, 64), torch.zeros(4, 2, 64, 64)
    out = torch.zeros_like(frame)

    def run() -> Any:
        out.zero_()
        module("splatting").splatting_forward_cuda(frame, way, out)
        return out

    return run, lambda: frame * 1


def sru() -> Case:
    """128 times, against the form that the paper has."""
    time, batch, size = 128, 16, 64
    u, x = torch.randn(time, batch, size, 3), torch.randn(time, batch, size)
    weight, bias, init = torch.randn(2, size), torch.randn(2, size), torch.randn(batch, size)

    def run() -> Any:
        function = module("sru").sru_forward_simple
        return function(u, x, weight, bias, init, None, None, time, batch, size)[0]

    def plain() -> Any:
        state, made = init, []
        for step in range(time):
            forget = torch.sigmoid(u[step, ..., 1] + weight[0] * state + bias[0])
            reset = torch.sigmoid(u[step, ..., 2] + weight[1] * state + bias[1])
            state = state * forget + u[step, ..., 0] * (1 - forget)
            made.append(state * reset + x[step] * (1 - reset))
        return torch.stack(made)

    return run, plain


def structured_kernels() -> Case:
    """Against complex numbers in one table."""
    v, w = (torch.randn(64, 32, dtype=torch.complex64) for _ in range(2))
    z = torch.exp(1j * torch.linspace(0, 6, 1024)) * 3

    def plain() -> Any:
        left = (v[..., None] / (z - w[..., None])).sum(1)
        return torch.view_as_real(left + (v.conj()[..., None] / (z - w.conj()[..., None])).sum(1))

    return lambda: torch.view_as_real(module("structured_kernels").cauchy_mult_sym_fwd(v, z, w)), plain


def transducer_loss() -> Case:
    """Costs and gradients, against autograd through a loop over frames and words."""
    log_probs = torch.log_softmax(torch.randn(4, 60, 16, 32), -1)
    words = torch.randint(1, 32, (4, 15), dtype=torch.int32)
    frames, lengths = torch.full((4,), 60, dtype=torch.int32), torch.full((4,), 15, dtype=torch.int32)

    def plain() -> Any:
        given = log_probs.clone().requires_grad_()
        label = given[:, :, :-1].gather(3, words.long()[:, None, :, None].expand(-1, 60, -1, -1))[..., 0]
        row: list[Any] = []
        for t in range(60):
            before, row = row, []
            for u in range(16):
                ways = [before[u] + given[:, t - 1, u, 0]] if t else []
                ways += [row[u - 1] + label[:, t, u - 1]] if u else []
                row.append(torch.logsumexp(torch.stack(ways), 0) if ways else given.new_zeros(4))
        costs = -(row[-1] + given[:, -1, -1, 0])
        return costs.detach(), torch.autograd.grad(costs.sum(), given)[0]

    return lambda: module("transducer_loss").rnnt_loss(log_probs, words, frames, lengths), plain


def upfirdn2d() -> Case:
    """Twice as large by a filter of four taps, against a transposed convolution."""
    image, taps = torch.randn(8, 64, 64, 1), torch.rand(4, 4)
    weight = taps[None, None]

    def plain() -> Any:
        made = functional.conv_transpose2d(image.permute(0, 3, 1, 2), weight, stride=2)
        return made[:, :, 1:-1, 1:-1].permute(0, 2, 3, 1)

    return lambda: module("upfirdn2d").upfirdn2d(image, taps, 2, 2, 1, 1, 2, 1, 2, 1), plain


def voxel_adam() -> Case:
    given = [torch.rand(160, 160, 16) for _ in range(4)]

    def run() -> Any:
        lists = [one.clone() for one in given]
        module("voxel_adam").adam_upd(*lists, 3, 0.9, 0.99, 0.1, 1e-8)
        return lists[0]

    def plain() -> Any:
        param, grad, first, second = (one.clone() for one in given)
        first.mul_(0.9).add_(grad, alpha=0.1)
        second.mul_(0.99).addcmul_(grad, grad, value=0.01)
        rate = 0.1 * (1 - 0.99**3) ** 0.5 / (1 - 0.9**3)
        return param.addcdiv_(first, second.sqrt().add_(1e-8), value=-rate)

    return run, plain


def voxel_rays() -> Case:
    """The shares of points on rays of 64 points, against a product along a table."""
    alpha, ray = torch.rand(2048 * 64) * 0.05, torch.arange(2048).repeat_interleave(64)

    def plain() -> Any:
        table = alpha.reshape(2048, 64)
        left = functional.pad((1 - table).cumprod(1), (1, 0), value=1.0)[:, :-1]
        return (table * left).flatten()

    return lambda: module("voxel_rays").alpha2weight(alpha, ray, 2048)[0], plain


def window_process() -> Case:
    image = torch.randn(8, 56, 56, 96)

    def plain() -> Any:
        rolled = torch.roll(image, (-3, -3), (1, 2)).reshape(8, 8, 7, 8, 7, 96)
        return rolled.permute(0, 1, 3, 2, 4, 5).reshape(-1, 7, 7, 96)

    return lambda: module("window_process").roll_and_window_partition_forward(image, 8, 56, 56, 96, -3, 7), plain


def wkv_heads() -> Case:
    """Version 7 of 256 times, against a loop over them."""
    r, w, k, v, a, b = (torch.randn(2, 256, 128) * 0.3 for _ in range(6))

    def run() -> Any:
        out = torch.empty_like(r)
        module("wkv_heads").forward7(2, 256, 128, 4, r, w, k, v, a, b, out)
        return out

    def plain() -> Any:
        parts = [one.reshape(2, 256, 4, 32) for one in (r, torch.exp(-torch.exp(w)), k, v, a, b)]
        state, outs = torch.zeros(2, 4, 32, 32), []
        for t in range(256):
            q, decay, key, value, one, two = (part[:, t] for part in parts)
            moved = (state * one[:, :, None]).sum(-1, keepdim=True)
            state = state * decay[:, :, None] + moved * two[:, :, None] + value[..., None] * key[:, :, None]
            outs.append((state * q[:, :, None]).sum(-1))
        return torch.stack(outs, 1).reshape(2, 256, 128)

    return run, plain


CASES: dict[str, Callable[[], Case]] = {
    one.__name__: one
    for one in (
        *(attention_softmax, auction, bilateral_filter, boxes_bev, carafe, correlation_lookup, cross_entropy),
        *(earth_mover, encoders),
        *(expert_routing, flow, forward_warp, fused_bias_act, gated_activations, gptq_matmul, hadamard, masked_conv),
        *(
            multi_tensor,
            nearest_points,
            ngram_block,
            point_grids,
            point_groups,
            point_sets,
            point_voxels,
            points_in_boxes,
        ),
        *(
            polygon_nms,
            psroi,
            ray_volumes,
            rotary_embedding,
            rotated_boxes,
            rotated_regions,
            scatter,
            sparse_conv,
            splatting,
            sru,
            structured_kernels,
        ),
        *(transducer_loss, upfirdn2d, voxel_adam, voxel_rays, window_process, wkv_heads),
    )
}
