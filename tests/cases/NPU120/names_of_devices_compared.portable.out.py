import torch

import compute_device

x = torch.ones(1).to(compute_device.type)
print(str(x.device) == f"{compute_device.type}:0", compute_device.type == x.device.type, compute_device.type != str(x.device).split(":")[0])
print(str(x.device).startswith(f"{compute_device.type}:"), str(x.device).startswith((compute_device.type, "xpu")), x.device.type in ["cuda", "npu"])


def number(device):
    return int(device.partition(":")[2]) if device.startswith(f"{compute_device.type}:") else 0


print(number(str(x.device)))
