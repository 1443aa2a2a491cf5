"""PyTorch's ways to train on several devices, on two processes; all of them in one program, since starting is what takes the time."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from . import in_parts
from .conftest import environment, keep_parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("torch")

PROGRAM = """
import copy, datetime, os, sys, warnings
import torch, torch_npu
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

try:
    from torch.distributed.device_mesh import init_device_mesh
except ImportError:
    init_device_mesh = None

warnings.simplefilter("ignore")
rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl", timeout=datetime.timedelta(seconds=120))

def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

def data(of):
    return torch.randn(6, 8, generator=torch.Generator().manual_seed(5 + of))

def learn(model, inputs, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        sum((model(x) ** 2).mean() / len(inputs) for x in inputs).backward()
        optimizer.step()
    return model

ON_CPU = learn(net(), [data(0), data(1)]).state_dict()
MINE = [data(rank).npu()]

def as_on_the_cpu(found, wanted=ON_CPU):
    for name, value in wanted.items():
        torch.testing.assert_close(found[name].cpu(), value, rtol=1e-5, atol=1e-6)

#: DistributedDataParallel
# plainly; with its options; with an optimiser that is shared out
as_on_the_cpu(learn(DistributedDataParallel(net().npu(), device_ids=[rank]), MINE).module.state_dict())
ddp = DistributedDataParallel(net().npu(), device_ids=[rank], gradient_as_bucket_view=True, static_graph=True)
as_on_the_cpu(learn(ddp, MINE).module.state_dict())
from torch.distributed.optim import ZeroRedundancyOptimizer
ddp = DistributedDataParallel(net().npu(), device_ids=[rank])
as_on_the_cpu(learn(ddp, MINE, ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.SGD, lr=0.1)).module.state_dict())
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
ddp = DistributedDataParallel(net().npu(), device_ids=[rank])
ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
with ddp.no_sync():
    ddp(MINE[0]).sum().backward()
learn(ddp, MINE)

#: DDP with find_unused_parameters
class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(8, 4), nn.Linear(8, 4)])
    def forward(self, x):
        return self.parts[rank](x)
torch.manual_seed(0)
half = Half()
ddp = learn(DistributedDataParallel(half.npu(), device_ids=[rank], find_unused_parameters=True), MINE)
for p in ddp.parameters():
    q = p.detach().clone()
    dist.broadcast(q, 0)
    assert torch.equal(p, q)

#: each reduction, in each collective
# gloo of PyTorch up to 2.8 lacks some, and adds up instead of others
for op, wanted in {"SUM": [5, 10], "AVG": [2.5, 5], "MAX": [3, 6], "MIN": [2, 4], "PRODUCT": [6, 24]}.items():
    op = getattr(dist.ReduceOp, op)
    whole = torch.tensor([1.0, 2, 3, 4]).npu() * (rank + 2)
    dist.all_reduce(whole, op)
    assert whole[:2].tolist() == wanted, (op, whole)
    for scatter in (
        lambda out, x: dist.reduce_scatter_tensor(out, x, op),
        lambda out, x: dist.reduce_scatter_tensor(out, x, op, async_op=True).wait(),
        lambda out, x: dist.reduce_scatter(out, list(x.chunk(2)), op),
    ):
        mine, given = torch.empty(2).npu(), torch.tensor([1.0, 2, 3, 4]).npu() * (rank + 2)
        before = given.tolist()
        scatter(mine, given)
        assert torch.equal(mine, whole.chunk(2)[rank]) and given.tolist() == before, (op, mine)

for op in (dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR):
    for reduce in (
        lambda: dist.all_reduce(torch.ones(2, dtype=torch.int32).npu(), op),
        lambda: dist.reduce_scatter_tensor(torch.empty(1).npu(), torch.ones(2).npu(), op),
    ):
        try:
            reduce()
        except RuntimeError as error:
            assert "Cannot use ReduceOp.B" in str(error) and "with HCCL" in str(error), error
        else:
            raise AssertionError(f"{op} was done")

# of float64 nothing is reduced, but it is handed round
wide = torch.ones(2, dtype=torch.float64).npu()
dist.broadcast(wide, 0)
dist.all_gather([torch.empty_like(wide) for _ in range(2)], wide)
for reduce in (
    lambda: dist.all_reduce(wide),
    lambda: dist.reduce(wide, 0),
    lambda: dist.reduce_scatter_tensor(torch.empty(1, dtype=torch.float64).npu(), wide),
    lambda: dist.reduce_scatter(torch.empty(1, dtype=torch.float64).npu(), list(wide.chunk(2))),
):
    try:
        reduce()
    except RuntimeError as error:
        assert "Unsupported data type at::kDouble" in str(error), error
    else:
        raise AssertionError("float64 was reduced")

#: products of matrices with a collective
# which name the communicator
def name_of(group):
    return group._get_backend(torch.device("npu")).get_hccl_comm_name(dist.get_rank(group))
hcom, other = name_of(dist.group.WORLD), name_of(dist.new_group([0, 1]))
names = [None, None]
dist.all_gather_object(names, (hcom, other))
assert hcom != other and names == [(hcom, other)] * 2, names
assert isinstance(dist.group.WORLD._get_backend(torch.device("npu")), torch_npu._C._distributed_c10d.ProcessGroupHCCL)
rows, square = torch.randn(2, 3, generator=torch.Generator().manual_seed(rank)), torch.arange(12.0).view(3, 4)
both = [torch.randn(2, 3, generator=torch.Generator().manual_seed(of)) for of in (0, 1)]
summed = both[0] @ square + both[1] @ square
for group in (hcom, other):
    close = torch.testing.assert_close
    close(torch_npu.npu_mm_all_reduce_base(rows.npu(), square.npu(), group).cpu(), summed)
    bias = torch_npu.npu_mm_all_reduce_base(rows.npu()[None], square.npu(), group, bias=torch.ones(4).npu())
    close(bias.cpu(), summed[None] + 2)
    close(torch_npu.npu_mm_reduce_scatter_base(rows.npu(), square.npu(), group, 2).cpu(), summed[rank : rank + 1])
    product, gathered = torch_npu.npu_all_gather_base_mm(rows.npu(), square.npu(), group, 2)
    close(gathered.cpu(), torch.cat(both))
    close(product.cpu(), torch.cat(both) @ square)
for wrong in (lambda: name_of(dist.group.WORLD)[:-1], lambda: "none"):
    try:
        torch_npu.npu_mm_all_reduce_base(rows.npu(), square.npu(), wrong())
    except RuntimeError as error:
        assert "no communicator is called" in str(error), error
    else:
        raise AssertionError("a communicator that there is not was used")

#: SyncBatchNorm
torch.manual_seed(1)
plain = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4))
synced = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain)).npu()
learn(DistributedDataParallel(synced, device_ids=[rank]), MINE)
as_on_the_cpu(synced.state_dict(), learn(plain, [torch.cat([data(0), data(1)])]).state_dict())

#: FullyShardedDataParallel
from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel, StateDictType
sharded = learn(FullyShardedDataParallel(net().npu(), device_id=torch.device("npu", rank), use_orig_params=True), MINE)
whole = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
with FullyShardedDataParallel.state_dict_type(sharded, StateDictType.FULL_STATE_DICT, whole):
    found = sharded.state_dict()
if rank == 0:
    as_on_the_cpu(found)
#: fully_shard, distributed checkpoints
try:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
except ImportError:
    raise Lacking("up to 2.5 PyTorch has it for CUDA alone, where at all") from None
model = net().npu()
fully_shard(model[0], mesh=init_device_mesh("npu", (2,)))
fully_shard(model)
as_on_the_cpu({name: value.full_tensor() for name, value in learn(model, MINE).state_dict().items()})
# made without memory, filled with random numbers where the shards are, saved and loaded
with torch.device("meta"):
    model = net()
fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
model.to_empty(device="npu")
for p in model.parameters():
    nn.init.normal_(p)
assert not torch.equal(*[part.full_tensor() for part in (model[0].weight[:8], model[0].weight[8:])])
optimizer = torch.optim.AdamW(model.parameters())
learn(model, MINE, optimizer)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
weights, moments = get_state_dict(model, optimizer)
before = {name: value.full_tensor().cpu() for name, value in weights.items()}
dcp.save({"model": weights, "optimizer": moments}, checkpoint_id="checkpoint")
learn(model, MINE, optimizer)
dcp.load({"model": weights, "optimizer": moments}, checkpoint_id="checkpoint")
set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
as_on_the_cpu({name: value.full_tensor() for name, value in model.state_dict().items()}, before)

#: DTensor, tensor parallelism
if init_device_mesh is None:
    raise Lacking("PyTorch 2.1 has no torch.distributed.device_mesh")
try:
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
except ImportError:  # PyTorch 2.4 and earlier
    from torch.distributed._tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
mesh = init_device_mesh("npu", (2,))
a = torch.arange(16.0).view(4, 4)
rows, columns = (distribute_tensor(a.npu(), mesh, [Shard(i)]) for i in (0, 1))
assert torch.equal((rows @ columns).full_tensor().cpu(), a @ a) and rows.device.index == rank
assert torch.equal(rows.redistribute(mesh, [Replicate()]).to_local().cpu(), a)
cut = parallelize_module(net().npu(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
torch.testing.assert_close(cut(data(7).npu()).cpu(), net()(data(7)))

#: collectives
# in all forms; tensors of the host are not this group's
x = torch.full((4,), rank + 1.0, device="npu")
both = [torch.empty(4, device="npu") for _ in range(2)]
dist.all_gather(both, x)
assert both[0].tolist() == [1] * 4 and both[1].tolist() == [2] * 4
part = torch.empty(2, device="npu")
dist.reduce_scatter_tensor(part, x)
assert part.tolist() == [3, 3]
swapped = torch.empty(4, device="npu")
dist.all_to_all_single(swapped, x)
assert swapped.tolist() == [1, 1, 2, 2]
ways = [dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, swapped, 1 - rank)]
for work in dist.batch_isend_irecv(ways):
    work.wait()
assert swapped.tolist() == [2.0 - rank] * 4
work = dist.all_reduce(x, async_op=True)
work.wait()
assert x.tolist() == [3] * 4
said = [None, None]
dist.all_gather_object(said, rank)
assert said == [0, 1]
try:
    dist.all_reduce(torch.ones(1))
except RuntimeError as error:
    assert "No backend type associated with device type cpu" in str(error)
else:
    raise AssertionError("a tensor of the host was reduced")
dist.destroy_process_group()

#: groups without a backend, and with two
# each with a store of its own: in torchrun's stand the addresses of the group before
for asked, name in ((None, "none"), ("cpu:gloo,npu:hccl", "two")):
    dist.init_process_group(asked, store=dist.FileStore(f"store-{name}", 2), rank=rank, world_size=2)
    dist.all_reduce(torch.ones(1, device="npu"))
    if asked is not None:
        dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()
sys.stdout.write("all well\\n")
"""


def test_two_processes(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    command = [sys.executable, "-m", "npuify", "simulate", "--policy=off", "--devices=2"]
    command += ["torchrun", "--standalone", "--nproc_per_node=2", in_parts.__file__, "program.py"]
    environ = {**environment(), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=600, check=False)
    keep_parts(PROGRAM, done.stdout, record_property)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"[-6000:]
    assert done.stdout.count("all well") == 2, done.stdout
    assert "No backend of type" not in done.stderr, done.stderr
