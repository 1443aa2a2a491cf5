import paddle.fluid as F

places = F.cuda_places() if F.core.is_compiled_with_cuda() else F.cpu_places()
place = F.CUDAPlace(0) if F.is_compiled_with_cuda() else F.CPUPlace()
executor = F.Executor(places[0])
