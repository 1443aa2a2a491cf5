import argparse

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true", help="enables cuda")
parser.add_argument("--no-cuda", dest="cuda", action="store_false")
args = parser.parse_args()
if args.cuda:
    print("cuda")
