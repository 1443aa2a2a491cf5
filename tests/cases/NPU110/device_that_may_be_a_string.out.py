import os

import torch
import torch_npu  # noqa: F401


def move(value, device):
    if isinstance(value, (list, tuple)):
        return [move(one, device) for one in value]
    return value.npu(device)


if __name__ == "__main__":
    print(move(torch.ones(3), os.environ.get("MY_DEVICE", "npu")))
    print(torch.ones(3).npu(device=int(os.environ.get("INDEX", "0"))))
