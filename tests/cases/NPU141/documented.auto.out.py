import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.utils.data import RandomSampler
torch.set_default_dtype(torch.float32)
torch.set_default_device("npu")
order = RandomSampler(data, generator=torch.Generator(torch.empty(0).device).manual_seed(torch.initial_seed()))
