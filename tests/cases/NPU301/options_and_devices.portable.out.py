import argparse

import torch.distributed as dist

import compute_device

parser = argparse.ArgumentParser()
parser.add_argument("--dist-backend", default=compute_device.dist_backend, choices=["nccl", "hccl", "gloo"], help="nccl for GPUs")
dist.init_process_group(f"cpu:gloo,{compute_device.type}:{compute_device.dist_backend}")
