import torch
import torch_npu  # noqa: F401


def kind(device):
    if (
        ("npu") in (
            str(device)
        )
    ):
        return 4
    if ("npu") in (  # the text of it
        str(device)
    ):
        return 3
    if isinstance(device, torch.device) and device.type == "npu":
        return 2
    return 0


print(kind(str(torch.ones(2).npu().device)))
