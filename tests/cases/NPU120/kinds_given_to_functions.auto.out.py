import sys

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def code(kind):
    if kind == "cpu":
        return 0
    elif kind in ("cuda", "npu"):
        return 1
    raise ValueError(kind)


def told(kind):
    match kind:
        case "cuda" | "npu":
            return "fast"
        case "cpu" | "mps":
            return "slow"


def option(kind):
    return kind == "cuda"


def is_gpu(x, device=None):
    return any(kind in x.type() for kind in ("cuda", "npu")) and getattr(device, "type", device) in ("cuda", "npu")


if __name__ == "__main__":
    x = torch.ones(3, device="cuda")
    print(code(x.device.type), told(str(x.device)), is_gpu(x, device=x.device), option(sys.argv[1]))
