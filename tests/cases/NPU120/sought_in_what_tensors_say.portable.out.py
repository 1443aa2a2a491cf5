import unittest
from typing import Literal, get_args

import torch

import compute_device

Kind = Literal["cuda", "npu", "cpu"]


class Places(unittest.TestCase):
    def test_there(self):
        x = torch.ones(1).to(compute_device.type)
        self.assertEqual(x.device.type, compute_device.type)
        self.assertEqual(compute_device.type, x.device.type)
        self.assertNotEqual(x.cpu().device.type, compute_device.type)


def place(x: torch.Tensor):
    text = f"{x.device}"
    if text in ("cuda", "npu", f"{compute_device.type}:0", f"{compute_device.type}:1") or text.lower().startswith((compute_device.type, "xpu")):
        return text.index(compute_device.type), text.count(compute_device.type)
    return text.removeprefix(compute_device.type)


def own(name: str = compute_device.type):
    text = str(torch.device(name))
    return text.count(compute_device.type)


def checked(x: torch.Tensor):
    if x.device.type not in get_args(Kind):
        raise ValueError(x.device.type)
