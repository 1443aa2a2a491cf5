# mypy: ignore-errors
"""A matching of two point sets by auction (MSN's earth mover's distance), and samples where points are few (MDS).

float32 and float64. Each round of the auction compares all free points with all others, in slices of at most 2**25
numbers; the host goes from round to round, and from sample to sample. Where several points bid the same for one place,
any one gets it, as in the kernel.
"""

import torch

_AT_ONCE = 2**25


def _bids(xyz1, xyz2, price):
    """The place that is worth most to each point, and by how much more than the next."""
    batch, number, _ = xyz1.shape
    best, second, place = [], [], []
    for part in torch.arange(number, device=xyz1.device).split(max(1, _AT_ONCE // max(1, batch * number))):
        apart = sum((xyz1[:, part, None, axis] - xyz2[:, None, :, axis]) ** 2 for axis in range(3))
        worth = 3.0 - apart.sqrt() - price[:, None]
        values, places = worth.topk(2, dim=-1)
        best.append(values[..., 0])
        second.append(values[..., 1])
        place.append(places[..., 0])
    return torch.cat(place, 1), torch.cat(best, 1) - torch.cat(second, 1)


def emd_forward(
    xyz1,
    xyz2,
    dist,
    assignment,
    price,
    assignment_inv,
    bid,
    bid_increments,
    max_increments,
    unass_idx,
    unass_cnt,
    unass_cnt_sum,
    cnt_tmp,
    max_idx,
    eps,
    iters,
):
    """Squared distances to the partners, and these. Of the rest only prices and partners are kept up."""
    batch, number, _ = xyz1.shape
    if number != xyz2.shape[1] or batch > 512 or number % 1024:
        return -1
    mine, price_now = assignment.long(), price.clone()
    theirs, nothing = assignment_inv.long(), float("-inf")
    rows = torch.arange(number, device=xyz1.device).expand(batch, -1)
    for step in range(iters):
        free = mine < 0
        place, more = _bids(xyz1, xyz2, price_now)
        more = torch.where(free, more + eps, torch.full_like(more, nothing))
        highest = torch.full_like(price_now, nothing).scatter_reduce(1, place, more, "amax")
        # One winner for each place: of equal bids that of the last point.
        wins = free & (more >= highest.gather(1, place) - 1e-6)
        last = step == iters - 1
        taker = torch.where(free if last else wins, rows, torch.full_like(rows, -1))
        winner = torch.full_like(theirs, -1).scatter_reduce(1, place, taker, "amax")
        if last:
            mine = torch.where(free, place, mine)
            price_now = price_now.scatter_add(1, place, torch.where(free, more, torch.zeros_like(more)))
        else:
            taken = winner >= 0
            # Whoever had the place is free again: written into a column of its own where there is nobody.
            had = torch.where(taken & (theirs >= 0), theirs, torch.full_like(theirs, number))
            padded = torch.nn.functional.pad(mine, (0, 1))
            mine = padded.scatter(1, had, torch.full_like(had, -1))[:, :number]
            padded = torch.nn.functional.pad(mine, (0, 1))
            at = torch.where(taken, winner, torch.full_like(winner, number))
            mine = padded.scatter(1, at, rows)[:, :number]
            paid = more.gather(1, winner.clamp(min=0))
            price_now = torch.where(taken, price_now + paid, price_now)
        theirs = torch.where(winner >= 0, winner, theirs)
    assignment.copy_(mine)
    assignment_inv.copy_(theirs)
    price.copy_(price_now)
    partner = xyz2.gather(1, mine.clamp(min=0)[..., None].expand(-1, -1, 3))
    dist.copy_(((xyz1 - partner) ** 2).sum(-1))
    return 1


def emd_backward(xyz1, xyz2, gradxyz, graddist, idx):
    """Of the first set, added to ``gradxyz``."""
    partner = xyz2.gather(1, idx.long()[..., None].expand(-1, -1, 3))
    gradxyz += 2 * graddist[..., None] * (xyz1 - partner)
    return 1


def minimum_density_sampling(points, nsamples, mean_mst_length, output):
    """``nsamples`` places, each where those before are felt least; points from 8192 on feel them twice."""
    batch, number, _ = points.shape
    reach = 5.0 * mean_mst_length[:batch, None] ** 2
    twice = torch.where(torch.arange(number, device=points.device) < 8192, 1.0, 2.0).to(points.dtype)
    felt = points.new_zeros(batch, number)
    last = torch.zeros(batch, 1, dtype=torch.long, device=points.device)
    # Of points that feel equally little the kernel takes the first of the first of its threads.
    threads = min(2 ** max(0, number.bit_length() - 1), 1024)
    column = -(-number // threads)
    at = torch.arange(number, device=points.device)
    rank = at % threads * column + at // threads
    found = []
    for step in range(nsamples):
        found.append(last)
        felt = felt.scatter(1, last, 1e9)
        if step < nsamples - 1:
            centre = points.gather(1, last[..., None].expand(-1, -1, 3))
            felt = felt + torch.exp(-((points - centre) ** 2).sum(-1) / reach) * twice
            least = felt == felt.amin(1, keepdim=True)
            first = torch.where(least, rank, torch.full_like(rank, threads * column)).amin(1, keepdim=True)
            last = first % column * threads + first // column
    if found:
        output.copy_(torch.cat(found, 1).reshape(output.shape))
    return output


def gather_points_grad(grad_out, idx, n):
    made = grad_out.new_zeros(len(grad_out), grad_out.shape[1], n)
    return made.scatter_add_(2, idx.long()[:, None].expand(-1, grad_out.shape[1], -1), grad_out)
