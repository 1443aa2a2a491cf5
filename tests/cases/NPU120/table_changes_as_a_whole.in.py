import torch.distributed as dist


def start(device):
    dist.init_process_group({"cuda": "nccl", "cpu": "gloo"}[device.type])
