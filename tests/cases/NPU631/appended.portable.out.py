from setuptools import setup
from torch.utils import cpp_extension

modules = []
modules.extend(
    ([cpp_extension.CUDAExtension(  # the kernels
        "a",
        ["a.cu"],
    )] if cpp_extension.CUDA_HOME is not None else [])
)
setup(name="x", ext_modules=modules, cmdclass={"build_ext": cpp_extension.BuildExtension})
