import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from ffcv.transforms import ToDevice
move = ToDevice(torch.device("cuda:0"), non_blocking=False)
