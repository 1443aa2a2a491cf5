import torch
import torch_npu  # noqa: F401

SYNCHRONIZE = {"npu": torch.npu.synchronize, "cpu": None, "default": None}
