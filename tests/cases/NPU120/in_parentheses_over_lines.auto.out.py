import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def kind(device):
    if (
        any(kind in str(device) for kind in ("cuda", "npu"))
    ):
        return 4
    if ("cuda") in (  # the text of it
        str(device)
    ):
        return 3
    if isinstance(device, torch.device) and device.type in ("cuda", "npu"):
        return 2
    return 0


print(kind(str(torch.ones(2).cuda().device)))
