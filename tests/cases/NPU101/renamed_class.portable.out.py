import torch

import compute_device

graph = (compute_device.api.NPUGraph if compute_device.type == "npu" else torch.cuda.CUDAGraph)()
with compute_device.api.graph(graph):
    pass
(compute_device.api.mstx.range_push if compute_device.type == "npu" else torch.cuda.nvtx.range_push)("step")
(compute_device.api.mstx.range_pop if compute_device.type == "npu" else torch.cuda.nvtx.range_pop)()
