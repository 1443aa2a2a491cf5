"""Tables of Python packages: what they need, which of their names and kernels have a replacement."""
