import torch as th
import torch_npu  # noqa: F401

cuda = th.npu
cuda.synchronize()
sync = th.npu.synchronize
stream = th.npu.Stream(priority=-1)
with th.npu.stream(stream):
    sync()
