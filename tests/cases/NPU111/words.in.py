RULES = {"is_cuda": "true where the tensor is on a GPU"}
print(getattr(RULES, "is_cuda_build", None))
