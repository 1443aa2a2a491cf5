import torch
import torch_npu.npu as tc
import torch_npu.npu.amp as amp

tc.synchronize()
scaler = amp.GradScaler()
