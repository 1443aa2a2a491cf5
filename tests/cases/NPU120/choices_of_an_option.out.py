import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="npu", choices=["npu", "cpu"], help="npu or cpu")
parser.add_argument("--gpu", default="npu:0")
args = parser.parse_args()
x = torch.zeros(2).to(args.gpu)
