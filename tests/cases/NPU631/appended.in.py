from setuptools import setup
from torch.utils import cpp_extension

modules = []
modules.append(
    cpp_extension.CUDAExtension(  # the kernels
        "a",
        ["a.cu"],
    )
)
setup(name="x", ext_modules=modules, cmdclass={"build_ext": cpp_extension.BuildExtension})
