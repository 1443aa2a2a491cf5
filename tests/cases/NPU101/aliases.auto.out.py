import torch as th
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

cuda = th.cuda
cuda.synchronize()
sync = th.cuda.synchronize
stream = th.cuda.Stream(priority=-1)
with th.cuda.stream(stream):
    sync()
