import torch
import torch_npu  # noqa: F401

device = torch.device(type="npu", index=1)
