import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import cupy
import numba.cuda
from pycuda import driver as cuda

cupy.cuda.Device(0).use()
numba.cuda.synchronize()
cuda.init()
