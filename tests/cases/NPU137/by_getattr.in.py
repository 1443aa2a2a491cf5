import torch
import torch_npu

cast = getattr(torch, "npu_format_cast")
softmax = getattr(torch, "npu_scaled_masked_softmax", None)
if hasattr(torch, "npu_rms_norm"):
    norm = torch_npu.npu_rms_norm
mine = getattr(torch_npu, "npu_format_cast")
