import torch.distributed as dist


def start(device):
    dist.init_process_group({"cuda": "nccl", "npu": "hccl", "cpu": "gloo"}[device.type])
