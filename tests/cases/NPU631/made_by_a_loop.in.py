from setuptools import setup
from torch.utils.cpp_extension import *

modules = [CUDAExtension(name, [f"{name}.cu"]) for name in ("a", "b") if name]
more = (CUDAExtension("c", ["c.cu"]),)
last = CUDAExtension("d", ["d.cu"])
modules.append(last)
setup(name="x", ext_modules=[*modules, *more], cmdclass={"build_ext": BuildExtension})
