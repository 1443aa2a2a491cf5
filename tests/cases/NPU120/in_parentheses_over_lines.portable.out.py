import torch

import compute_device


def kind(device):
    if (
        (compute_device.type) in (
            str(device)
        )
    ):
        return 4
    if (compute_device.type) in (  # the text of it
        str(device)
    ):
        return 3
    if isinstance(device, torch.device) and device.type == compute_device.type:
        return 2
    return 0


print(kind(str(torch.ones(2).to(compute_device.type).device)))
