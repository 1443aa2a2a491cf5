from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

one = CUDAExtension("a", ["a.cu"])
one.extra_link_args = ["-lx"]
two = CUDAExtension("b", ["b.cu"])
two = wrapped(two)
three = CUDAExtension("c", ["c.cu"])
setup(name="x", ext_modules=[one, two], cmdclass={"build_ext": BuildExtension})
