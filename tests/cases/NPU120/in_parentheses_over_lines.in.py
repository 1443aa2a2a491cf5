import torch


def kind(device):
    if (
        ("cuda") in (
            str(device)
        )
    ):
        return 4
    if ("cuda") in (  # the text of it
        str(device)
    ):
        return 3
    if isinstance(device, torch.device) and device.type == "cuda":
        return 2
    return 0


print(kind(str(torch.ones(2).cuda().device)))
