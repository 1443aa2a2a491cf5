import argparse

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cuda or cpu")
parser.add_argument("--gpu", default="cuda:0")
args = parser.parse_args()
x = torch.zeros(2).to(args.gpu)
