import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
WHEELS = {"cuda": "cu121", "rocm": "rocm6"}
os_name = {"cuda": 1}["cuda"]
record = {"cuda": "12.1", "python": "3.10"}
print(WHEELS["cuda"], os_name, record["cuda"])
