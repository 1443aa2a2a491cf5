import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def needed(x: torch.Tensor):
    if x.device.type not in ("cuda", "npu"):
        raise RuntimeError("runs on a GPU only")
    return x


def there(device: torch.device):
    if device.type in ("cuda", "npu") and not torch.cuda.is_available():
        raise RuntimeError("no GPU")
    return device


def chosen(device: torch.device):
    if device.type in ("cuda", "npu"):
        return 1
    raise ValueError(device)
