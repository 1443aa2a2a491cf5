from typing import Literal, Optional

import torch
import torch_npu  # noqa: F401


def wait(stream: "torch.npu.Stream", event: "Optional[torch.npu.Event]" = None) -> "torch.npu.Event":
    kind: Literal["torch.cuda.Stream"] = "torch.cuda.Stream"
    other: Optional["torch.npu.Stream"] = stream
    print("torch.cuda.Stream")
    return torch.npu.Event()
