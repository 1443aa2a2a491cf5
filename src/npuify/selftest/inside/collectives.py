"""Collectives over HCCL on several cards, one process a card."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from npuify.selftest.inside.ask import CannotAsk, kernels_missing, told

KINDS = (
    "broadcast",
    "all_gather",
    "all_gather_into_tensor",
    "reduce_scatter_tensor",
    "all_to_all_single",
    "gather of objects",
    "send and receive",
    "barrier",
)


def reduced(dtype: str, operation: str, ranks: int) -> list[Any] | str:
    """What each element of an all-reduce comes to where rank r gives r + 1; what is raised, where it is refused."""

    def work(rank: int) -> Any:
        import torch
        import torch.distributed as dist

        x = torch.full((4,), rank + 1, dtype=getattr(torch, dtype)).npu()
        dist.all_reduce(x, getattr(dist.ReduceOp, operation))
        return x.cpu().float().tolist()

    return _same_on_all(work, ranks)


def moved(kind: str, ranks: int) -> list[Any] | str:
    """What the last rank has after a collective in which rank r gives r, r + 0.5."""

    def work(rank: int) -> Any:
        return _moved(kind, rank, ranks)

    found = run(work, ranks)
    return found if isinstance(found, str) else found[-1]


def _moved(kind: str, rank: int, ranks: int) -> Any:
    import torch
    import torch.distributed as dist

    x = torch.tensor([float(rank), rank + 0.5]).npu()
    match kind:
        case "broadcast":
            dist.broadcast(x, 0)
        case "all_gather":
            parts = [torch.zeros_like(x) for _ in range(ranks)]
            dist.all_gather(parts, x)
            x = torch.cat(parts)
        case "all_gather_into_tensor":
            whole = torch.zeros(2 * ranks).npu()
            dist.all_gather_into_tensor(whole, x)
            x = whole
        case "reduce_scatter_tensor":
            given = torch.arange(2.0 * ranks).npu() * (rank + 1)
            dist.reduce_scatter_tensor(x, given)
        case "all_to_all_single":
            given = torch.arange(float(ranks)).npu() + 10 * rank
            x = torch.zeros(ranks).npu()
            dist.all_to_all_single(x, given)
        case "gather of objects":
            objects: list[Any] = [None] * ranks
            dist.all_gather_object(objects, {"rank": rank})
            return [one["rank"] for one in objects]
        case "send and receive":
            if rank == 0:
                dist.send(x, ranks - 1)
            elif rank == ranks - 1:
                dist.recv(x, 0)
        case _:
            dist.barrier()
    return x.cpu().tolist()


def trains(ranks: int) -> bool:
    """Whether DistributedDataParallel over some cards trains to the weights of one process with all the data."""

    def work(rank: int) -> Any:
        import torch

        torch.manual_seed(3)
        data = torch.randn(4 * ranks, 8)
        model = torch.nn.Linear(8, 3)
        alone = torch.nn.Linear(8, 3)
        alone.load_state_dict(model.state_dict())
        wrapped = torch.nn.parallel.DistributedDataParallel(model.npu(), device_ids=[rank])
        part = data[rank::ranks].npu()
        for net, batch in ((wrapped, part), (alone, data)):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                net(batch).square().mean().backward()
                optimizer.step()
        return torch.allclose(model.weight.cpu(), alone.weight, rtol=1e-3, atol=1e-4)

    found = run(work, ranks)
    return all(one is True for one in found) if isinstance(found, list) else False


def _same_on_all(work: Callable[[int], Any], ranks: int) -> list[Any] | str:
    found = run(work, ranks)
    if isinstance(found, str):
        return found
    return found[0] if all(one == found[0] for one in found) else found


def run(work: Callable[[int], Any], ranks: int) -> list[Any] | str:
    """What ``work`` gives on each rank; the first error, where one raises.

    Raises:
        CannotAsk: there are no collectives here.
    """
    import json

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(ranks):
            child = os.fork()
            if child == 0:
                answer: Any
                try:
                    answer = {"value": _rank(work, rank, ranks, port)}
                except BaseException as error:
                    answer = {"missing": True} if kernels_missing(error) else {"error": told(error)}
                Path(folder, str(rank)).write_text(json.dumps(answer))
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        answers = [
            json.loads(path.read_text()) if (path := Path(folder, str(rank))).is_file() else {"error": "it ended"}
            for rank in range(ranks)
        ]
    if any("missing" in answer for answer in answers):
        raise CannotAsk("there are no collectives here")
    failed = next((answer["error"] for answer in answers if "error" in answer), None)
    return f"raises {failed.partition(':')[0]}" if failed is not None else [answer["value"] for answer in answers]


def _rank(work: Callable[[int], Any], rank: int, ranks: int, port: int) -> Any:
    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(ranks))
    os.environ["LOCAL_RANK"] = str(rank)
    torch.npu.set_device(rank)
    dist.init_process_group("hccl")
    return work(rank)
