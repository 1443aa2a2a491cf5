"""What is asked about: calls, operators and kernels with their arguments."""
