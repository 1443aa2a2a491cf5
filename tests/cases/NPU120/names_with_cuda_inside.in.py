BACKENDS = ("cuda_dot", "dot", "cuda-graphs", "pycuda")
print("cuda_dot" in BACKENDS, "cudagraphs", "cuda12")
