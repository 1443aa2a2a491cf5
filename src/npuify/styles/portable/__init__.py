"""The portable style: one code base for CUDA, NPU and CPU."""
