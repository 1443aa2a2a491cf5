import torch


def needed(x: torch.Tensor):
    if x.device.type != "cuda":
        raise RuntimeError("runs on a GPU only")
    return x


def there(device: torch.device):
    if device.type == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("no GPU")
    return device


def chosen(device: torch.device):
    if device.type == "cuda":
        return 1
    raise ValueError(device)
