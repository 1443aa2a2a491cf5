import sys

import torch
import torch_npu  # noqa: F401


def code(kind):
    if kind == "cpu":
        return 0
    elif kind == "npu":
        return 1
    raise ValueError(kind)


def told(kind):
    match kind:
        case "npu":
            return "fast"
        case "cpu" | "mps":
            return "slow"


def option(kind):
    return kind == "cuda"


def is_gpu(x, device=None):
    return "cuda" in x.type() and getattr(device, "type", device) == "npu"


if __name__ == "__main__":
    x = torch.ones(3, device="npu")
    print(code(x.device.type), told(str(x.device)), is_gpu(x, device=x.device), option(sys.argv[1]))
