import torch


def forked(device):
    return [device] if getattr(device, "type", None) == "cuda" else []
