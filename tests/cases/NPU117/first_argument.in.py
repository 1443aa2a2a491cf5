def register(registry):
    registry.impl("CUDA")
    registry.add("kernel", "CUDA")
