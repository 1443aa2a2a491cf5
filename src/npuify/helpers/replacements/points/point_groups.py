# mypy: ignore-errors
"""Operators of PointGroup and of those after it (SoftGroup, Pointcept): voxels, balls, clusters, segments of points.

float32, int32 and int64. Voxel features and segments are sums by index; what is gathered for voxels is held in slices
of at most 2**24 numbers. ``ballquery_batch_p`` compares all pairs, in slices of at most 2**24, and asks the device how
many there are. ``voxelize_idx`` and ``bfs_cluster`` are for tensors of the host, as in the extension.
"""

import torch

_AT_ONCE = 2**24
_MOST_NEAR = 1000


# --- voxels ---


def voxelize_idx(coords, output_coords, input_map, output_map, batchSize, mode):
    """Voxels in the order in which points reach them: coordinates, the voxel of each point, the points of each."""
    if coords.shape[1] != 4:
        raise NotImplementedError("the kernel reads other coordinates where no batch is given")
    number = len(coords)
    _, inverse = coords.unique(dim=0, return_inverse=True)
    first = torch.full((int(inverse.max()) + 1 if number else 0,), number, dtype=torch.long)
    first = first.scatter_reduce(0, inverse, torch.arange(number), "amin")
    order = first.argsort()
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    voxel = place[inverse]
    input_map.copy_(voxel)
    counts = torch.bincount(voxel, minlength=len(order))
    by_voxel = voxel.argsort(stable=True)
    ends = counts.cumsum(0)
    if mode in (3, 4):
        most = max(1, int(counts.max())) if number else 1
        table = torch.zeros(len(order), most + 1, dtype=output_map.dtype)
        table[:, 0] = counts
        inside = torch.arange(number) - (ends - counts)[voxel[by_voxel]]
        table[voxel[by_voxel], inside + 1] = by_voxel.to(table.dtype)
    else:
        table = torch.ones(len(order), 2, dtype=output_map.dtype)
        table[:, 1] = by_voxel[(ends - 1) if mode == 2 else (ends - counts)].to(table.dtype)
    output_map.resize_(table.shape)
    output_map.copy_(table)
    output_coords.resize_(len(order), 4)
    output_coords.copy_(coords[table[:, 1].long()])


def _pairs(rules, rows, most, channels, average):
    """Of some rows at once: the row and the point of each pair, and its weight, 0 where a row has fewer points."""
    rules = rules.reshape(-1, most + 1)[:rows]
    for part in torch.arange(rows, device=rules.device).split(max(1, _AT_ONCE // (max(1, most) * channels))):
        number, points = rules[part, :1], rules[part, 1:].long()
        there = (torch.arange(most, device=rules.device) < number).float()
        weight = there / number.clamp(min=1) if average else there
        yield part[:, None].expand_as(points).flatten(), points.flatten(), weight.flatten()


def voxelize_fp(feats, output_feats, output_map, mode, nActive, maxActive, nPlane):
    """The sum, or with mode 4 the mean, of the features of each voxel's points, added to ``output_feats``."""
    for rows, points, weight in _pairs(output_map, nActive, maxActive, nPlane, mode == 4):
        output_feats.index_add_(0, rows, feats[points] * weight[:, None])


def voxelize_bp(d_output_feats, d_feats, output_map, mode, nActive, maxActive, nPlane):
    for rows, points, weight in _pairs(output_map, nActive, maxActive, nPlane, mode == 4):
        d_feats.index_add_(0, points, d_output_feats[rows] * weight[:, None])


def point_recover_fp(feats, output_feats, idx_map, nActive, maxActive, nPlane):
    """The features of its voxel for each point, added to ``output_feats``."""
    voxelize_bp(feats, output_feats, idx_map, 0, nActive, maxActive, nPlane)


def point_recover_bp(d_output_feats, d_feats, idx_map, nActive, maxActive, nPlane):
    voxelize_fp(d_output_feats, d_feats, idx_map, 0, nActive, maxActive, nPlane)


# --- balls and clusters ---


def ballquery_batch_p(xyz, batch_idxs, batch_offsets, idx, start_len, n, meanActive, radius):
    """The points of its own set that are nearer to each point than ``radius``, one list behind the other.

    Returns:
        How many there are; ``idx`` has room for ``n * meanActive``, and the rest is not written.
    """
    xyz, limit = xyz.reshape(-1, 3)[:n], float(torch.tensor(radius, dtype=torch.float32) ** 2)
    offsets = batch_offsets.long()
    begin, end = offsets[batch_idxs[:n].long()], offsets[batch_idxs[:n].long() + 1]
    order, room, total, counts = torch.arange(n, device=xyz.device), n * meanActive, 0, []
    for part in order.split(max(1, _AT_ONCE // max(1, n))):
        apart = sum((xyz[part, None, axis] - xyz[None, :, axis]) ** 2 for axis in range(3))
        near = (apart < limit) & (order >= begin[part, None]) & (order < end[part, None])
        near = near & (near.cumsum(1) <= _MOST_NEAR)
        found = near.nonzero()[:, 1].to(idx.dtype)
        counts.append(near.sum(1))
        kept = found[: max(0, room - total)]
        idx[total : total + len(kept)] = kept
        total += len(found)
    counts = torch.cat(counts) if counts else order
    start_len.copy_(torch.stack([counts.cumsum(0) - counts, counts], 1).reshape(start_len.shape))
    return total


def _clusters(labels, neighbours, start_len, n, least, idxs, offsets):
    """The parts of a graph, in the order in which a search by breadth finds their points."""
    start_len = start_len.reshape(-1, 2).long()
    neighbours, visited = neighbours.long(), torch.zeros(n, dtype=torch.bool)
    kept = []
    for first in range(n):
        if visited[first]:
            continue
        visited[first] = True
        level = torch.tensor([first])
        found = [level]
        while len(level):
            begin, count = start_len[level].unbind(1)
            ends = count.cumsum(0)
            at = torch.arange(int(ends[-1])) - (ends - count).repeat_interleave(count)
            reached = neighbours[begin.repeat_interleave(count) + at]
            if labels is not None:
                reached = reached[labels[reached] == labels[first]]
            reached = reached[~visited[reached]]
            # Each once, where it comes first.
            values, inverse = reached.unique(return_inverse=True)
            at_first = torch.full((len(values),), len(reached)).scatter_reduce(
                0, inverse, torch.arange(len(reached)), "amin"
            )
            level = reached[at_first.sort().values]
            visited[level] = True
            found.append(level)
        found = torch.cat(found)
        if len(found) >= least:
            kept.append(found)
    sizes = torch.tensor([0] + [len(one) for one in kept])
    offsets.resize_(len(sizes))
    offsets.copy_(sizes.cumsum(0))
    number = torch.arange(len(kept)).repeat_interleave(sizes[1:])
    made = torch.stack([number, torch.cat(kept)], 1) if kept else torch.zeros(0, 2)
    idxs.resize_(made.shape)
    idxs.copy_(made)


def bfs_cluster(semantic_label, ball_query_idxs, start_len, cluster_idxs, cluster_offsets, N, threshold):
    """Clusters of points with one label, of at least ``threshold`` points. On the host, point by point."""
    _clusters(semantic_label, ball_query_idxs, start_len, N, threshold, cluster_idxs, cluster_offsets)


def bfs_cluster_of_class(
    class_numpoint_mean, ball_query_idxs, start_len, cluster_idxs, cluster_offsets, N, threshold, class_id
):
    """SoftGroup's form: ``threshold`` is a share of the usual size of the class, where that is known."""
    usual = float(class_numpoint_mean[class_id])
    least = threshold if usual == -1 else threshold * usual
    _clusters(None, ball_query_idxs, start_len, N, least, cluster_idxs, cluster_offsets)


# --- segments ---


def _segments(offsets, number, count):
    """The segment of each of ``number`` points; ``count`` for those behind the last."""
    at = torch.arange(number, device=offsets.device)
    which = torch.searchsorted(offsets[: count + 1].long(), at, right=True) - 1
    return torch.where(which < 0, torch.full_like(which, count), which)


def _sizes(offsets, count):
    return (offsets[1 : count + 1] - offsets[:count]).float()[:, None]


def _extreme(values, offsets, count, kind):
    nothing = float("-inf") if kind == "amax" else float("inf")
    made = values.new_full((count + 1, values.shape[1]), nothing)
    into = _segments(offsets, len(values), count)[:, None].expand_as(values)
    return made.scatter_reduce(0, into, values, kind)[:count], into


def _sum(values, offsets, count):
    made = values.new_zeros(count + 1, values.shape[1])
    return made.index_add_(0, _segments(offsets, len(values), count), values)[:count]


def roipool_fp(feats, proposals_offset, output_feats, output_maxidx, nProposal, C):
    """The largest value of each segment, and the first place where it stands; -1 where there is none."""
    feats = feats.reshape(-1, C)
    best, into = _extreme(feats, proposals_offset, nProposal, "amax")
    padded = torch.cat([best, best.new_full((1, C), float("inf"))])
    at = torch.arange(len(feats), device=feats.device)[:, None].expand_as(feats)
    at = torch.where((feats == padded.gather(0, into)) & (feats > float("-inf")), at, torch.full_like(at, len(feats)))
    first = at.new_full((nProposal + 1, C), len(feats)).scatter_reduce(0, into, at, "amin")[:nProposal]
    output_feats.copy_(best.reshape(output_feats.shape))
    output_maxidx.copy_(
        torch.where(first == len(feats), torch.full_like(first, -1), first).reshape(output_maxidx.shape)
    )


def roipool_bp(d_feats, proposals_offset, output_maxidx, d_output_feats, nProposal, C):
    """Added to ``d_feats`` where the largest values stood."""
    at = output_maxidx.reshape(nProposal, C).long()
    given = d_output_feats.reshape(nProposal, C) * (at >= 0)
    d_feats.scatter_add_(0, at.clamp(min=0), given)


def global_avg_pool_fp(feats, proposals_offset, output_feats, nProposal, C):
    made = _sum(feats.reshape(-1, C), proposals_offset, nProposal) / _sizes(proposals_offset, nProposal)
    output_feats.copy_(made.reshape(output_feats.shape))


def global_avg_pool_bp(d_feats, proposals_offset, d_output_feats, nProposal, C):
    share = d_output_feats.reshape(nProposal, C) / _sizes(proposals_offset, nProposal)
    share = torch.cat([share, share.new_zeros(1, C)])
    d_feats += share[_segments(proposals_offset, len(d_feats), nProposal)].reshape(d_feats.shape)


def sec_mean(inp, offsets, out, nProposal, C):
    """The mean of each segment; 0 where it is empty."""
    made = _sum(inp.reshape(-1, C), offsets, nProposal) / _sizes(offsets, nProposal).clamp(min=1)
    out.copy_(made.reshape(out.shape))


def sec_min(inp, offsets, out, nProposal, C):
    out.copy_(_extreme(inp.reshape(-1, C), offsets, nProposal, "amin")[0].reshape(out.shape))


def sec_max(inp, offsets, out, nProposal, C):
    out.copy_(_extreme(inp.reshape(-1, C), offsets, nProposal, "amax")[0].reshape(out.shape))


# --- overlaps with instances ---


def _overlaps(idx, offset, labels, sizes, iou, instances, proposals, counts):
    which = _segments(offset, len(idx), proposals)
    label = labels[idx.long()].long()
    known = (label >= 0) & (label < instances) & (which < proposals)
    at = which.clamp(max=proposals - 1) * instances + label.clamp(0, instances - 1)
    common = torch.zeros(proposals * instances, device=idx.device).index_add_(0, at, counts * known)
    common = common.reshape(proposals, instances)
    own = torch.zeros(proposals + 1, device=idx.device).index_add_(0, which, counts)[:proposals, None]
    made = common / (own + sizes[:instances].float() - common + 1e-5)
    iou.copy_(made.reshape(iou.shape))


def get_iou(proposals_idx, proposals_offset, instance_labels, instance_pointnum, proposals_iou, nInstance, nProposal):
    """The share of intersection in union of each proposal's points with those of each instance."""
    ones = torch.ones(len(proposals_idx), device=proposals_idx.device)
    given = (proposals_idx, proposals_offset, instance_labels, instance_pointnum, proposals_iou, nInstance, nProposal)
    _overlaps(*given, ones)


def get_mask_iou_on_pred(
    proposals_idx,
    proposals_offset,
    instance_labels,
    instance_pointnum,
    proposals_iou,
    nInstance,
    nProposal,
    mask_scores_sigmoid,
):
    """``get_iou``, where only points count whose mask is above a half."""
    counts = (mask_scores_sigmoid.flatten()[: len(proposals_idx)] > 0.5).float()
    given = (proposals_idx, proposals_offset, instance_labels, instance_pointnum, proposals_iou, nInstance, nProposal)
    _overlaps(*given, counts)


def get_mask_label(
    proposals_idx,
    proposals_offset,
    instance_labels,
    instance_cls,
    proposals_iou,
    nInstance,
    nProposal,
    iou_thr,
    mask_labels,
):
    """1 for points of the instance that a proposal overlaps most, 0 for its others; none if it overlaps too little."""
    share = proposals_iou.reshape(nProposal, nInstance)
    share = torch.where(instance_cls[:nInstance] == -100, torch.zeros_like(share), share).clamp(min=0)
    best, which = share.max(1)
    which = torch.where(best > 0, which, torch.zeros_like(which))
    segment = _segments(proposals_offset, len(proposals_idx), nProposal)
    inside, of = segment < nProposal, segment.clamp(max=nProposal - 1)
    made = (instance_labels[proposals_idx.long()] == which[of]).to(mask_labels.dtype)
    written = inside & (best >= iou_thr)[of]
    flat = mask_labels.reshape(-1)[: len(proposals_idx)]
    flat.copy_(torch.where(written, made, flat))
