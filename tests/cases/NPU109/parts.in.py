import argparse
import re

import torch

DEVICE = re.compile(r"^cuda:(\d+)$")


def matched(device: str) -> int:
    found = re.match(r"cuda:(\d+)", device)
    if found is None:
        raise ValueError(device)
    return int(found.group(1))


def one_of_both(device: str) -> bool:
    return re.fullmatch(r"(cuda|cpu)(:\d+)?", device) is not None


def cut(device: str) -> int:
    if device[:4] == "cuda":
        return int(device[5:])
    return int(device[5]) if device[:5] == "cuda:" else 0


def is_other(device: str) -> bool:
    return device[:5] != "cuda:"


def cut_by_length(device: str) -> int:
    return int(device[len("cuda:") :])


def split(device: str) -> int:
    kind, _, number = device.partition(":")
    if kind == "cuda":
        return int(number)
    return 0


def own_name(rank: int) -> str:
    name = f"cuda:{rank}"
    return name[5:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda:0")
    args = parser.parse_args()
    x = torch.ones(2).to(args.device)
    print(matched(args.device), cut(str(x.device)), split(args.device))
