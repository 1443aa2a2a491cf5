import cupy
import numba.cuda
from pycuda import driver as cuda

cupy.cuda.Device(0).use()
numba.cuda.synchronize()
cuda.init()
