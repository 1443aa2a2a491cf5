import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension


def extensions():
    if CUDA_HOME is None:
        return []
    return [CUDAExtension("a", ["a.cu"])]


modules = [CppExtension("b", ["b.cpp"])]
if torch.cuda.is_available():  # npuify: ignore
    modules.append(CUDAExtension("c", ["c.cu"]))
modules += [CUDAExtension("d", ["d.cu"])] if CUDA_HOME else []

setup(name="x", ext_modules=modules, cmdclass={"build_ext": BuildExtension})
