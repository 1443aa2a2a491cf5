"""What programs for older releases of PyTorch do, and the releases that an NPU has refuse."""
