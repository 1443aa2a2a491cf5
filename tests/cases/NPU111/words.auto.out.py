import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
RULES = {"is_cuda": "true where the tensor is on a GPU"}
print(getattr(RULES, "is_cuda_build", None))
