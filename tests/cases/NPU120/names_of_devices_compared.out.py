import torch
import torch_npu  # noqa: F401

x = torch.ones(1).npu()
print(str(x.device) == "npu:0", "npu" == x.device.type, "npu" != str(x.device).split(":")[0])
print(str(x.device).startswith("npu:"), str(x.device).startswith(("npu", "xpu")), x.device.type in ["npu"])


def number(device):
    return int(device.partition(":")[2]) if device.startswith("npu:") else 0


print(number(str(x.device)))
