import unittest
from typing import Literal, get_args

import torch

Kind = Literal["cuda", "cpu"]


class Places(unittest.TestCase):
    def test_there(self):
        x = torch.ones(1).cuda()
        self.assertEqual(x.device.type, "cuda")
        self.assertEqual("cuda", x.device.type)
        self.assertNotEqual(x.cpu().device.type, "cuda")


def place(x: torch.Tensor):
    text = f"{x.device}"
    if text in ("cuda", "cuda:0", "cuda:1") or text.lower().startswith(("cuda", "xpu")):
        return text.index("cuda"), text.count("cuda")
    return text.removeprefix("cuda")


def own(name: str = "cuda"):
    text = str(torch.device(name))
    return text.count("cuda")


def checked(x: torch.Tensor):
    if x.device.type not in get_args(Kind):
        raise ValueError(x.device.type)
