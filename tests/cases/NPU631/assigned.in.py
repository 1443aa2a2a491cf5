from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

module = CUDAExtension("a", ["a.cu"])
setup(name="x", ext_modules=[module], cmdclass={"build_ext": BuildExtension})
