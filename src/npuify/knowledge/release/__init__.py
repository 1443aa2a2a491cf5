"""The releases of torch_npu: which there are, the names of each, and what stands in for a CUDA name on it."""
