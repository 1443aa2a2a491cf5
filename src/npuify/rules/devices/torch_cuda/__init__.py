"""Names of ``torch.cuda``, in code and in strings, and their parameters."""
