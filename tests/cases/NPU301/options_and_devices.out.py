import argparse

import torch.distributed as dist
import torch_npu  # noqa: F401

parser = argparse.ArgumentParser()
parser.add_argument("--dist-backend", default="hccl", choices=["hccl", "gloo"], help="nccl for GPUs")
dist.init_process_group("cpu:gloo,npu:hccl")
