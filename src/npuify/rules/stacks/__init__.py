"""Rules for libraries around PyTorch that have words, settings or versions of their own for the NPU."""
