from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CUDAExtension

module = CUDAExtension("a", ["a.cu"]) if CUDA_HOME is not None else None
setup(name="x", ext_modules=[*([module] if module is not None else [])], cmdclass={"build_ext": BuildExtension})
