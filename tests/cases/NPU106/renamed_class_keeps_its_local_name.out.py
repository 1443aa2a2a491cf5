from torch_npu.npu import NPUGraph as CUDAGraph, Stream, current_stream as now

graph = CUDAGraph()
stream = Stream()
now().wait_stream(stream)
