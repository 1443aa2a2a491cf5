"""What runs beside the NPU, in the user's Python: imports nothing but the standard library, torch and torch_npu."""
