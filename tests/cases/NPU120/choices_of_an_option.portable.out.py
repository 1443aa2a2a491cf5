import argparse

import torch

import compute_device

parser = argparse.ArgumentParser()
parser.add_argument("--device", default=compute_device.type, choices=["cuda", "npu", "cpu"], help="cuda or cpu")
parser.add_argument("--gpu", default=f"{compute_device.type}:0")
args = parser.parse_args()
x = torch.zeros(2).to(args.gpu)
