import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
class Timer:
    pass


timer = Timer()
setattr(timer, "cuda", True)
if hasattr(timer, "cuda"):
    delattr(timer, "cuda")
