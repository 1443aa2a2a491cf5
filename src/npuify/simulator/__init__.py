"""A simulated NPU for any machine with PyTorch for the CPU."""
