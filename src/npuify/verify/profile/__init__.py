"""Profiles of torch_npu, msprof and CUDA: where a step's time goes, and which advice of the tuning table holds."""
