import torch
import torch_npu  # noqa: F401
import torch.distributed.rpc as rpc

options = rpc.TensorPipeRpcBackendOptions(device_maps={"w": {"npu:0": "npu:1"}})
options.set_device_map("w", {"npu:0": "npu:1"})
