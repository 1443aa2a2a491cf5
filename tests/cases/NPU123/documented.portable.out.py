import torch

import compute_device

def there(x: torch.Tensor) -> bool:
    return x.device == torch.device(f"{compute_device.type}:0")
