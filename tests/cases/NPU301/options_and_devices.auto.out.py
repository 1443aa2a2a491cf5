import argparse

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--dist-backend", default="nccl", choices=["nccl", "gloo"], help="nccl for GPUs")
dist.init_process_group("cpu:gloo,cuda:nccl")
