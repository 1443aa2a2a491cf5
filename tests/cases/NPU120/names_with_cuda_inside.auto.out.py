import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
BACKENDS = ("cuda_dot", "dot", "cuda-graphs", "pycuda")
print("cuda_dot" in BACKENDS, "cudagraphs", "cuda12")
