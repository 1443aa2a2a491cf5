from setuptools import setup
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CUDAExtension

setup(
    name="scale",
    ext_modules=[*([CUDAExtension("scale_cuda", ["scale.cpp", "scale.cu"])] if CUDA_HOME is not None else [])],
    cmdclass={"build_ext": BuildExtension},
)
