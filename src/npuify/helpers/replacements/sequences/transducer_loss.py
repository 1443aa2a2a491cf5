# mypy: ignore-errors
"""The RNN transducer's loss (warp-rnnt): costs and gradients, padded and packed.

float32 in the kernels, any floating type here. T + U - 1 steps over the diagonals of the lattice of all samples at
once take the place of threads that wait for each other. The packed form reads the lengths from the device, as the
kernel does.
"""

import torch

_NEVER = float("-inf")


def _skewed(part, lattice):
    """(n, t, u) by diagonals: (n, t + u, u), and minus infinity outside."""
    n, high, wide = part.shape
    at = torch.arange(high + wide - 1, device=part.device)[:, None] - torch.arange(wide, device=part.device)
    found = part.masked_fill(~lattice, _NEVER).gather(1, at.clamp(0, high - 1).expand(n, -1, -1))
    return found.masked_fill((at < 0) | (at >= high), _NEVER)


def _straight(diagonals, high):
    wide = diagonals.shape[2]
    at = torch.arange(high, device=diagonals.device)[:, None] + torch.arange(wide, device=diagonals.device)
    return diagonals.gather(1, at.expand(len(diagonals), -1, -1))


def _lattice(blank, label, xn, yn):
    """Sums of paths up to each place of (n, T, U) and from it on, and which places a sample has."""
    n, high, wide = blank.shape
    t, u = torch.arange(high, device=blank.device)[:, None], torch.arange(wide, device=blank.device)
    frames, words = xn.long()[:, None, None], yn.long()[:, None, None]
    lattice = (t < frames) & (u <= words)
    stay, emit = _skewed(blank, lattice), _skewed(label, lattice & (u < words))
    end = _skewed(blank, (t == frames - 1) & (u == words))
    never = blank.new_full((n, 1), _NEVER)
    at = torch.cat([torch.zeros_like(never), never.expand(-1, wide - 1)], 1)
    alphas = [at]
    for step in range(high + wide - 2):
        moved = torch.cat([never, (at + emit[:, step])[:, :-1]], 1)
        at = torch.logaddexp(at + stay[:, step], moved)
        alphas.append(at)
    at, betas = never.expand(-1, wide), []
    for step in reversed(range(high + wide - 1)):
        moved = torch.cat([at[:, 1:], never], 1) + emit[:, step]
        at = torch.logaddexp(torch.logaddexp(at + stay[:, step], moved), end[:, step])
        betas.append(at)
    return _straight(torch.stack(alphas, 1), high), _straight(torch.stack(betas[::-1], 1), high), lattice


def _gradients(blank, label, xn, yn, alphas, betas, lattice, fastemit_lambda):
    """The gradients for the blank and for the label of each place."""
    high, wide = blank.shape[1:]
    t, u = torch.arange(high, device=blank.device)[:, None], torch.arange(wide, device=blank.device)
    frames, words = xn.long()[:, None, None], yn.long()[:, None, None]
    last, all_paths = t == frames - 1, betas[:, :1, :1]
    later = torch.cat([betas[:, 1:], torch.zeros_like(betas[:, :1])], 1).masked_fill(last, 0)
    wider = torch.cat([betas[:, :, 1:], torch.zeros_like(betas[:, :, :1])], 2)
    of_blank = -torch.exp(alphas + later + blank - all_paths)
    of_label = -torch.exp(alphas + wider + label - all_paths) * (1 + fastemit_lambda)
    keep_blank, keep_label = lattice & ~(last & (u < words)), lattice & (u < words)
    return of_blank.masked_fill(~keep_blank, 0), of_label.masked_fill(~keep_label, 0), keep_label


def rnnt_loss(xs, ys, xn, yn, blank=0, fastemit_lambda=0.0):
    """Costs (n,) and gradients of (n, T, U, V) logarithms of probabilities; with ``blank`` -1, V is blank and label."""
    gathered = blank == -1
    of_blank = xs[..., 0 if gathered else blank]
    if gathered:
        index = None
        of_label = xs[..., 1]
    else:
        padded = torch.cat([ys.long(), ys.new_zeros(len(ys), 1).long()], 1)
        index = padded[:, None, :, None].expand(-1, xs.shape[1], -1, -1)
        of_label = xs.gather(3, index).squeeze(3)
    alphas, betas, lattice = _lattice(of_blank, of_label, xn, yn)
    down, right, keep = _gradients(of_blank, of_label, xn, yn, alphas, betas, lattice, fastemit_lambda)
    grads = torch.zeros_like(xs)
    grads[..., 0 if gathered else blank] = down
    if gathered:
        grads[..., 1] = right
    else:
        # A label that is the blank itself is written last, where the sample has a label.
        grads.scatter_(3, index, torch.where(keep[..., None], right[..., None], grads.gather(3, index)))
    row = torch.arange(len(xs), device=xs.device)
    one = alphas[row, xn.long() - 1, yn.long()] + of_blank[row, xn.long() - 1, yn.long()]
    other = betas[:, 0, 0]
    # As the kernel: where both ways around give different sums, no gradient, and the mean of both.
    apart = (one - other).abs() / torch.maximum(one, other).abs() > 0.001
    grads = grads.masked_fill(apart[:, None, None, None], 0)
    return -torch.where(apart, (one + other) / 2, other), grads


def _places(xn, yn):
    """For each packed place its sample, frame and number of words before it."""
    sizes = (xn * (yn + 1)).long()
    total = int(sizes.sum())
    sample = torch.repeat_interleave(torch.arange(len(xn), device=xn.device), sizes, output_size=total)
    at = torch.arange(total, device=xn.device) - (sizes.cumsum(0) - sizes)[sample]
    width = yn.long()[sample] + 1
    return sample, torch.div(at, width, rounding_mode="floor"), at % width


def rnnt_loss_compact(xs, ys, xn, yn, blank=0, fastemit_lambda=0.0, required_grad=True):
    """Costs, gradients of blank and label at each place, and the labels, for samples one behind another."""
    sample, t, u = _places(xn, yn)
    begins = (yn.cumsum(0) - yn).long()
    last = u == yn.long()[sample]
    words = torch.cat([ys.long(), ys.new_zeros(1).long()])
    loc = torch.where(last, torch.full_like(u, blank), words[begins[sample] + u])
    picked = torch.stack([xs[:, blank], xs.gather(1, loc[:, None]).squeeze(1)], 1)
    padded = xs.new_zeros(len(xn), int(xn.max()), int(yn.max()) + 1, 2)
    padded[sample, t, u] = picked
    of_blank, of_label = padded.unbind(-1)
    alphas, betas, lattice = _lattice(of_blank, of_label, xn, yn)
    costs = -betas[:, 0, 0]
    if not required_grad:
        return costs, betas[sample, t, u], loc
    down, right, _ = _gradients(of_blank, of_label, xn, yn, alphas, betas, lattice, fastemit_lambda)
    return costs, torch.stack([down[sample, t, u], right[sample, t, u]], 1), loc


def rnnt_loss_compact_backward(grad_costs, grad_xs, cumSum, loc, V, blank=0):
    """The gradient for all of V from those that ``rnnt_loss_compact`` kept."""
    place = torch.arange(len(grad_xs), device=grad_xs.device, dtype=cumSum.dtype)
    weight = grad_costs[torch.searchsorted(cumSum, place, right=True)]
    found = grad_xs.new_zeros(len(grad_xs), V)
    found.scatter_(1, loc[:, None], (grad_xs[:, 1] * weight)[:, None])
    found[:, blank] = grad_xs[:, 0] * weight
    return found
