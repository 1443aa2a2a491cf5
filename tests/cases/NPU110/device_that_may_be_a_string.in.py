import os

import torch


def move(value, device):
    if isinstance(value, (list, tuple)):
        return [move(one, device) for one in value]
    return value.cuda(device)


if __name__ == "__main__":
    print(move(torch.ones(3), os.environ.get("MY_DEVICE", "cuda")))
    print(torch.ones(3).cuda(device=int(os.environ.get("INDEX", "0"))))
