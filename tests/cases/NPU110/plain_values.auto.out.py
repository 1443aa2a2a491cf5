import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
name = "cuda".upper()
table = {"cuda": 1}
count = [1, 2]
print(table["cuda"], name, count)
