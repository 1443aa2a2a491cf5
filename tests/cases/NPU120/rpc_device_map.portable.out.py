import torch
import torch.distributed.rpc as rpc

import compute_device

options = rpc.TensorPipeRpcBackendOptions(device_maps={"w": {f"{compute_device.type}:0": f"{compute_device.type}:1"}})
options.set_device_map("w", {f"{compute_device.type}:0": f"{compute_device.type}:1"})
