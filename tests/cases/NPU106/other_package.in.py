from numba.cuda import jit
from numba import cuda
from cupy.cuda import Device
from .cuda import build
from .torch.cuda import Stream
