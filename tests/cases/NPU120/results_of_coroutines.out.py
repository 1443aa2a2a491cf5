"""What asyncio.run() gives is what the coroutine returns."""

import asyncio

import torch
import torch_npu  # noqa: F401


async def place(gpu: bool = True) -> str:
    return "npu" if gpu else "cpu"


def main() -> None:
    x = torch.ones(2).to(asyncio.run(place()))
    print(str(torch.device(asyncio.run(place()))).replace("npu", ""), x.sum())
