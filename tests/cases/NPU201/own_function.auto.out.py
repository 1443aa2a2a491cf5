import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
def is_autocast_enabled():
    return False


print(is_autocast_enabled())
