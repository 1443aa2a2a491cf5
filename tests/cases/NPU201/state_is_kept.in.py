import torch


def cast(x):
    if torch.is_autocast_enabled():
        return x.to(torch.get_autocast_gpu_dtype())
    return x


torch.set_autocast_gpu_dtype(torch.bfloat16)
