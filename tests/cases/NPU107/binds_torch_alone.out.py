import torch
import torch_npu  # noqa: F401

torch.npu.empty_cache()
