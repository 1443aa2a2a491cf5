"""Point sets: matching, grids, groups, sparse convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from tools.public_kernels.beside import DEVICE, beside, far, given, module, stand_in

if TYPE_CHECKING:
    from pathlib import Path


def msn(root: Path) -> float:
    """What the auction says of distances holds of its own matching, which costs little more than the best."""
    from scipy.optimize import linear_sum_assignment

    match = module(root / "emd", "emd_module").emdModule()
    one, two = torch.rand(1, 1024, 3), torch.rand(1, 1024, 3)
    partners: list[Any] = []

    def ours(a: Any, b: Any) -> Any:
        distance, partner = match(a, b, 0.002, 300)
        partners.append(partner.cpu().long())
        return distance

    def meant(a: Any, b: Any) -> Any:
        # Only the first set gets a gradient, as in the project.
        return ((a - b.detach()[0, partners[-1][0]]) ** 2).sum(-1) + 0 * b.sum()

    worst = beside(ours, meant, one, two)
    costs = torch.cdist(one[0].double(), two[0].double())
    best = costs[linear_sum_assignment(costs)].mean()
    found = costs[torch.arange(1024), partners[-1][0]].mean()
    assert found < best * 1.05, (found, best)
    return worst


def grnet(root: Path) -> float:
    grids = module(root, "extensions.gridding")
    size = 8
    points = given(1, 50, 3, low=-0.85, high=0.7)

    def spread(points: Any) -> Any:
        """The shares of each point at the 8 corners of its cell, one corner after the other."""
        at = points[0] * (size // 2) + size // 2
        low = at.detach().floor()
        made = torch.zeros(size**3, dtype=points.dtype)
        for corner in range(8):
            way = torch.tensor([corner >> 2 & 1, corner >> 1 & 1, corner & 1], dtype=points.dtype)
            place = (low + way).long()
            share = (1 - (at - low - way).abs()).prod(-1)
            made = made.index_add(0, (place[:, 0] * size + place[:, 1]) * size + place[:, 2], share)
        return made[None]

    return beside(grids.Gridding(size), spread, points)


def point_group(root: Path) -> float:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ops = module(
        root, "lib.pointgroup_ops.functions.pointgroup_ops", "lib", "lib.pointgroup_ops",
        "lib.pointgroup_ops.functions",
    )  # fmt: skip
    cells = torch.cat([torch.zeros(60, 1), torch.randint(0, 4, (60, 3))], 1).long()
    places, which, table = ops.voxelization_idx(cells, 1, 4)
    which = which.long()
    assert far(places[which], cells) == 0
    members = functional.one_hot(which, len(places)).double()
    counts = members.sum(0)
    rule, count = table.to(DEVICE), len(places)
    worst = beside(lambda x: ops.voxelization(x, rule, 4), lambda x: members.t() @ x / counts[:, None], given(60, 5))
    worst = max(worst, beside(lambda x: ops.point_recover(x, rule, 60), lambda x: x[which], given(count, 5)))
    ends = torch.tensor([0, 13, 31, 60], dtype=torch.int32)
    parts = [slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    largest = lambda x: torch.stack([x[one].amax(0) for one in parts])  # noqa: E731
    worst = max(worst, beside(lambda x: ops.roipool(x, ends.to(DEVICE)), largest, given(60, 5)))
    for name, meant in (
        ("sec_mean", lambda x: torch.stack([x[one].mean(0) for one in parts])),
        ("sec_min", lambda x: torch.stack([x[one].amin(0) for one in parts])),
        ("sec_max", largest),
    ):
        run = lambda x, name=name: getattr(ops, name)(x, ends.to(DEVICE))  # noqa: E731
        worst = max(worst, beside(run, meant, given(60, 5), backward=False))
    xyz, batch = given(60, 3, low=0, high=1), torch.zeros(60, dtype=torch.int32)
    whole = torch.tensor([0, 60], dtype=torch.int32)
    found, begins = ops.ballquery_batch_p(xyz.to(DEVICE), batch.to(DEVICE), whole.to(DEVICE), 0.25, 4)
    near = torch.cdist(xyz.double(), xyz.double()) < 0.25
    rows = [found[begin : begin + length].cpu().long().sort().values for begin, length in begins.cpu().tolist()]
    assert all(torch.equal(row, mask.nonzero()[:, 0]) for row, mask in zip(rows, near, strict=True))
    labels = torch.randint(0, 2, (60,), dtype=torch.int32)
    clusters, _ = ops.bfs_cluster(labels, found.cpu(), begins.cpu(), 2)
    same = near & (labels[:, None] == labels)
    number, of = connected_components(coo_matrix(same.numpy()), directed=False)
    made = {frozenset(clusters[clusters[:, 0] == one, 1].tolist()) for one in clusters[:, 0].unique()}
    assert made == {frozenset((of == one).nonzero()[0].tolist()) for one in range(number) if (of == one).sum() >= 2}
    return worst


def bevdet(root: Path) -> float:
    register = type("Registry", (), {"register_module": lambda *_, **__: lambda one: one})()
    stand_in("mmcv")
    stand_in("mmcv.cnn", CONV_LAYERS=register)
    packages = ("mmdet3d", "mmdet3d.ops")
    spconv = module(root, "mmdet3d.ops.spconv", *packages)
    knn = module(root, "mmdet3d.ops.knn.knn", "mmdet3d.ops.knn").knn
    mask = torch.rand(2, 6, 7, 5) < 0.2
    places, worst = mask.nonzero(), 0.0
    for kind, options in (("SubMConv3d", {}), ("SparseConv3d", {"stride": 2, "padding": 1})):
        layer = getattr(spconv, kind)(4, 3, 3, bias=False, **options).to(DEVICE)

        def ours(x: Any, weight: Any, layer: Any = layer) -> Any:
            del layer.weight
            layer.weight = weight
            made = layer(spconv.SparseConvTensor(x, places.int().to(DEVICE), [6, 7, 5], 2))
            at = made.indices.cpu().long()
            whole = torch.zeros(2, 3, *made.spatial_shape, device=DEVICE)
            return whole.permute(0, 2, 3, 4, 1).index_put(tuple(at.t().to(DEVICE)), made.features)

        def dense(x: Any, weight: Any, options: Any = options) -> Any:
            whole = torch.zeros(2, 6, 7, 5, 4, dtype=x.dtype).index_put(tuple(places.t()), x).permute(0, 4, 1, 2, 3)
            weight = weight.permute(4, 3, 0, 1, 2)
            made = functional.conv3d(whole, weight, None, options.get("stride", 1), 1).permute(0, 2, 3, 4, 1)
            if options:
                return made
            return made * mask[..., None]

        worst = max(worst, beside(ours, dense, given(len(places), 4), given(3, 3, 3, 4, 3)))
    xyz, centres = given(2, 40, 3), given(2, 9, 3)
    found = knn(5, xyz.to(DEVICE), centres.to(DEVICE), False).cpu().long()
    apart = torch.cdist(centres.double(), xyz.double())
    taken = apart.gather(2, found.transpose(1, 2)).sort(-1).values
    return max(worst, far(taken, apart.topk(5, largest=False).values))


PROGRAMS = {
    "Colin97/MSN-Point-Cloud-Completion": msn,
    "hzxie/GRNet": grnet,
    "dvlab-research/PointGroup": point_group,
    "HuangJunJie2017/BEVDet": bevdet,
}
