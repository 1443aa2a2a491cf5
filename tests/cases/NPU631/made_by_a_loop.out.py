from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME
from torch.utils.cpp_extension import *

modules = [CUDAExtension(name, [f"{name}.cu"]) for name in ("a", "b") if name if CUDA_HOME is not None]
more = (*([CUDAExtension("c", ["c.cu"])] if CUDA_HOME is not None else []),)
last = CUDAExtension("d", ["d.cu"]) if CUDA_HOME is not None else None
modules.extend(([last] if last is not None else []))
setup(name="x", ext_modules=[*modules, *more], cmdclass={"build_ext": BuildExtension})
