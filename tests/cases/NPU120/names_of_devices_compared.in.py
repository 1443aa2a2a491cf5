import torch

x = torch.ones(1).cuda()
print(str(x.device) == "cuda:0", "cuda" == x.device.type, "cuda" != str(x.device).split(":")[0])
print(str(x.device).startswith("cuda:"), str(x.device).startswith(("cuda", "xpu")), x.device.type in ["cuda"])


def number(device):
    return int(device[5:]) if device.startswith("cuda:") else 0


print(number(str(x.device)))
