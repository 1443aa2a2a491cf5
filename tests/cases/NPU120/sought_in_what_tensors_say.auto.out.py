import unittest
from typing import Literal, get_args

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

Kind = Literal["cuda", "cpu"]


class Places(unittest.TestCase):
    def test_there(self):
        x = torch.ones(1).cuda()
        self.assertIn(x.device.type, ("cuda", "npu"))
        self.assertIn(x.device.type, ("cuda", "npu"))
        self.assertNotIn(x.cpu().device.type, ("cuda", "npu"))


def place(x: torch.Tensor):
    text = f"{x.device}"
    if text in ("cuda", "npu", "cuda:0", "npu:0", "cuda:1", "npu:1") or text.lower().startswith(("cuda", "npu", "xpu")):
        return text.index("cuda"), text.count("cuda")
    return text.removeprefix("cuda")


def own(name: str = "cuda"):
    text = str(torch.device(name))
    return text.count("cuda")


def checked(x: torch.Tensor):
    if x.device.type not in get_args(Kind):
        raise ValueError(x.device.type)
