import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed.rpc as rpc

options = rpc.TensorPipeRpcBackendOptions(device_maps={"w": {"npu:0": "npu:1"}})
options.set_device_map("w", {"cuda:0": "cuda:1"})
