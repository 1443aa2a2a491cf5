import argparse
import re

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

DEVICE = re.compile(r"^(?:cuda|npu):(\d+)$")


def matched(device: str) -> int:
    found = re.match(r"(?:cuda|npu):(\d+)", device)
    if found is None:
        raise ValueError(device)
    return int(found.group(1))


def one_of_both(device: str) -> bool:
    return re.fullmatch(r"((?:cuda|npu)|cpu)(:\d+)?", device) is not None


def cut(device: str) -> int:
    if device.partition(":")[0] in ("cuda", "npu"):
        return int(device.partition(":")[2])
    return int(device.partition(":")[2]) if device.startswith(("cuda:", "npu:")) else 0


def is_other(device: str) -> bool:
    return not device.startswith("cuda:")


def cut_by_length(device: str) -> int:
    return int(device[len("cuda:") :])


def split(device: str) -> int:
    kind, _, number = device.partition(":")
    if kind == "cuda":
        return int(number)
    return 0


def own_name(rank: int) -> str:
    name = f"cuda:{rank}"
    return name.partition(":")[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda:0")
    args = parser.parse_args()
    x = torch.ones(2).to(args.device)
    print(matched(args.device), cut(str(x.device)), split(args.device))
