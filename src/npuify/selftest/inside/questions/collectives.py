"""Collectives over HCCL on several cards, with one process a card or two."""

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


_SHARED_SINCE = 25
"""The first driver with which several processes may share an NPU is 25.0.RC1."""


def reduced(dtype: str, operation: str, ranks: int, per_card: int = 1, jobs: int = 1) -> list[Any] | str:
    """What each element of an all-reduce comes to where rank r gives r + 1; what is raised, where it is refused.

    Args:
        per_card: ranks that share a card.
        jobs: groups that do the same at the same time, on the same cards.

    Raises:
        CannotAsk: processes cannot share a card here.
    """

    def work(rank: int) -> Any:
        import torch
        import torch.distributed as dist

        x = torch.full((4,), rank + 1, dtype=getattr(torch, dtype)).npu()
        dist.all_reduce(x, getattr(dist.ReduceOp, operation))
        return x.cpu().float().tolist()

    if per_card > 1 or jobs > 1:
        _cards_can_be_shared()
    return _same_on_all(work, ranks, per_card, jobs)


def _cards_can_be_shared() -> None:
    from npuify.selftest.inside.questions.machine import describe
    from npuify.selftest.inside.questions.says import is_older_chip

    if is_older_chip():
        raise CannotAsk("the chip takes one process a card")
    number = describe()["driver"].partition(".")[0]
    if number.isdigit() and int(number) < _SHARED_SINCE:
        raise CannotAsk("the driver takes one process a card")


def moved(kind: str, ranks: int, per_card: int = 1) -> list[Any] | str:
    """What the last rank has after a collective in which rank r gives r, r + 0.5."""

    def work(rank: int) -> Any:
        return _moved(kind, rank, ranks)

    if per_card > 1:
        _cards_can_be_shared()
    found = run(work, ranks, per_card)
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


def _same_on_all(work: Callable[[int], Any], ranks: int, per_card: int, jobs: int) -> list[Any] | str:
    found = run(work, ranks, per_card, jobs)
    if isinstance(found, str):
        return found
    return found[0] if all(one == found[0] for one in found) else found


def run(work: Callable[[int], Any], ranks: int, per_card: int = 1, jobs: int = 1) -> list[Any] | str:
    """What ``work`` gives on each rank; the first error, where one raises.

    Args:
        per_card, jobs: see :func:`reduced`; the ranks of all jobs, one job after the other.

    Raises:
        CannotAsk: there are no collectives here.
    """
    import json

    with tempfile.TemporaryDirectory() as folder:
        children = []
        for job in range(jobs):
            port = _free_port()
            for rank in range(ranks):
                child = os.fork()
                if child == 0:
                    answer: Any
                    try:
                        answer = {"value": _rank(work, rank, ranks, port, rank // per_card)}
                    except BaseException as error:
                        answer = {"missing": True} if kernels_missing(error) else {"error": told(error)}
                    Path(folder, f"{job} {rank}").write_text(json.dumps(answer))
                    os._exit(0)
                children.append(child)
        for child in children:
            os.waitpid(child, 0)
        paths = [Path(folder, f"{job} {rank}") for job in range(jobs) for rank in range(ranks)]
        answers = [json.loads(path.read_text()) if path.is_file() else {"error": "it ended"} for path in paths]
    if any("missing" in answer for answer in answers):
        raise CannotAsk("there are no collectives here")
    failed = next((answer["error"] for answer in answers if "error" in answer), None)
    return f"raises {failed.partition(':')[0]}" if failed is not None else [answer["value"] for answer in answers]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _rank(work: Callable[[int], Any], rank: int, ranks: int, port: int, card: int) -> Any:
    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(ranks))
    os.environ["LOCAL_RANK"] = str(rank)
    torch.npu.set_device(card)
    dist.init_process_group("hccl")
    return work(rank)
