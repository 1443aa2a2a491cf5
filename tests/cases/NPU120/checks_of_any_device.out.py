import torch
import torch_npu  # noqa: F401


def needed(x: torch.Tensor):
    if x.device.type != "npu":
        raise RuntimeError("runs on a GPU only")
    return x


def there(device: torch.device):
    if device.type == "npu" and not torch.npu.is_available():
        raise RuntimeError("no GPU")
    return device


def chosen(device: torch.device):
    if device.type == "npu":
        return 1
    raise ValueError(device)
