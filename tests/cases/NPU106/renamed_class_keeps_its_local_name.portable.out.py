from compute_device import Stream, current_stream as now

import compute_device

CUDAGraph = compute_device.api.NPUGraph if compute_device.type == "npu" else compute_device.api.CUDAGraph

graph = CUDAGraph()
stream = Stream()
now().wait_stream(stream)
