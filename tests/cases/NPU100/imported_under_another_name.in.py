import torch
import torch_npu as tn

tn.npu.set_device(0)
torch.npu.empty_cache()
