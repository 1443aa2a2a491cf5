import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cuda or cpu")
parser.add_argument("--gpu", default="cuda:0")
args = parser.parse_args()
x = torch.zeros(2).to(args.gpu)
