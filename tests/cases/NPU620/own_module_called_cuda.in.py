import cuda
from cuda import kernels

kernels.run(cuda.device)
