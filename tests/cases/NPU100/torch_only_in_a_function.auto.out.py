import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
def ready():
    import torch

    return torch.cuda.is_available()
