from typing import Literal, Optional

import torch

import compute_device


def wait(stream: "torch.cuda.Stream", event: "Optional[torch.cuda.Event]" = None) -> "torch.cuda.Event":
    kind: Literal["torch.cuda.Stream"] = "torch.cuda.Stream"
    other: Optional["torch.cuda.Stream"] = stream
    print("torch.cuda.Stream")
    return compute_device.api.Event()
