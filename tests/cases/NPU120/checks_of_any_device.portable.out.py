import torch

import compute_device


def needed(x: torch.Tensor):
    if x.device.type != compute_device.type:
        raise RuntimeError("runs on a GPU only")
    return x


def there(device: torch.device):
    if device.type == compute_device.type and not compute_device.api.is_available():
        raise RuntimeError("no GPU")
    return device


def chosen(device: torch.device):
    if device.type == compute_device.type:
        return 1
    raise ValueError(device)
