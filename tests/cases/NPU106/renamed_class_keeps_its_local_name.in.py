from torch.cuda import CUDAGraph, Stream, current_stream as now

graph = CUDAGraph()
stream = Stream()
now().wait_stream(stream)
