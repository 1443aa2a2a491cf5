"""What asyncio.run() gives is what the coroutine returns."""

import asyncio

import torch

import compute_device


async def place(gpu: bool = True) -> str:
    return compute_device.type if gpu else "cpu"


def main() -> None:
    x = torch.ones(2).to(asyncio.run(place()))
    print(str(torch.device(asyncio.run(place()))).replace(compute_device.type, ""), x.sum())
