import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

kind = 'cu' 'da'
x = torch.ones(2).to(kind)
y = torch.ones(2, device="cu" "da" ":1")
z = torch.ones(2, device="cuda" ":1")
note = "cu" "dal"
