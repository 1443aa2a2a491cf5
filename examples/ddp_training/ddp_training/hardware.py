"""What a run ran on, for the run's log. The field names are those of the results database."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass

import torch


@dataclass
class Hardware:
    host: str
    torch: str
    cuda: str
    cards: int
    nccl: str

    def row(self) -> dict:
        return asdict(self)


def probe() -> Hardware:
    available = torch.cuda.is_available()
    return Hardware(
        host=platform.node(),
        torch=torch.__version__,
        cuda=str(torch.version.cuda),
        cards=torch.cuda.device_count(),
        nccl=".".join(map(str, torch.cuda.nccl.version())) if available else "",
    )


def summary(hardware: Hardware) -> str:
    if not hardware.cards:
        return f"{hardware.host}: no cards, torch {hardware.torch}"
    return f"{hardware.host}: {hardware.cards} cards, CUDA {hardware.cuda}, NCCL {hardware.nccl}"
