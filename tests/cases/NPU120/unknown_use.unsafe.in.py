def make(registry):
    registry.register("cuda")
