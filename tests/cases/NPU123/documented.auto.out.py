import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

def there(x: torch.Tensor) -> bool:
    return x.device == torch.device("npu:0")
