import unittest
from typing import Literal, get_args

import torch
import torch_npu  # noqa: F401

Kind = Literal["npu", "cpu"]


class Places(unittest.TestCase):
    def test_there(self):
        x = torch.ones(1).npu()
        self.assertEqual(x.device.type, "npu")
        self.assertEqual("npu", x.device.type)
        self.assertNotEqual(x.cpu().device.type, "npu")


def place(x: torch.Tensor):
    text = f"{x.device}"
    if text in ("npu", "npu:0", "npu:1") or text.lower().startswith(("npu", "xpu")):
        return text.index("npu"), text.count("npu")
    return text.removeprefix("npu")


def own(name: str = "npu"):
    text = str(torch.device(name))
    return text.count("npu")


def checked(x: torch.Tensor):
    if x.device.type not in get_args(Kind):
        raise ValueError(x.device.type)
