import torch
import torch_npu
x = torch_npu.npu_format_cast(torch.zeros(2).npu(), 2)
y = torch_npu.npu_format_cast(x, 29)
