import numba.cuda
import pycuda.autoinit
import cuda.bindings.runtime as rt
