import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension

if torch.cuda.is_available():
    extensions = [CUDAExtension("ops", ["ops.cpp", "ops.cu"])]
else:
    extensions = [CppExtension("ops", ["ops.cpp"])]

setup(name="ops", ext_modules=extensions, cmdclass={"build_ext": BuildExtension})
