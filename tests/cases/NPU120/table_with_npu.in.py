BACKENDS = {"cpu": "gloo", "cuda": "nccl", "npu": "hccl"}


def backend(device):
    return BACKENDS[device.type]
