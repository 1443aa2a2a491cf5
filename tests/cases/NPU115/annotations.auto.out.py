from typing import Literal, Optional

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def wait(stream: "torch.cuda.Stream", event: "Optional[torch.cuda.Event]" = None) -> "torch.cuda.Event":
    kind: Literal["torch.cuda.Stream"] = "torch.cuda.Stream"
    other: Optional["torch.cuda.Stream"] = stream
    print("torch.cuda.Stream")
    return torch.cuda.Event()
