import torch
import torch_npu  # noqa: F401

HAS_GRAPHS = hasattr(torch.npu, "NPUGraph")
if hasattr(torch, "npu") and torch.npu.is_available():
    torch.npu.synchronize()
