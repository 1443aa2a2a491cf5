import torch
import torch_npu  # noqa: F401

kind = 'npu'
x = torch.ones(2).to(kind)
y = torch.ones(2, device="npu:1")
z = torch.ones(2, device="npu" ":1")
note = "cu" "dal"
