import torch
import torch_npu  # noqa: F401


def cast(x):
    if torch.npu.is_autocast_enabled():
        return x.to(torch.npu.get_autocast_dtype())
    return x


torch.npu.set_autocast_dtype(torch.bfloat16)
