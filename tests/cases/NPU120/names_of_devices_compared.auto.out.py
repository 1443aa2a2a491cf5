import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

x = torch.ones(1).cuda()
print(str(x.device) in ("cuda:0", "npu:0"), x.device.type in ("cuda", "npu"), str(x.device).split(":")[0] not in ("cuda", "npu"))
print(str(x.device).startswith(("cuda:", "npu:")), str(x.device).startswith(("cuda", "npu", "xpu")), x.device.type in ["cuda", "npu"])


def number(device):
    return int(device.partition(":")[2]) if device.startswith(("cuda:", "npu:")) else 0


print(number(str(x.device)))
