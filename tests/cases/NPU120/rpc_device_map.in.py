import torch
import torch.distributed.rpc as rpc

options = rpc.TensorPipeRpcBackendOptions(device_maps={"w": {"cuda:0": "cuda:1"}})
options.set_device_map("w", {"cuda:0": "cuda:1"})
