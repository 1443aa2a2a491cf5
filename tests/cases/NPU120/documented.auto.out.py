import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
print("running on cuda")
x = torch.zeros(2, device="cuda")
