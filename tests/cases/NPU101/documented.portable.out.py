import torch

import compute_device

compute_device.api.synchronize()
graph = (compute_device.api.NPUGraph if compute_device.type == "npu" else torch.cuda.CUDAGraph)()
