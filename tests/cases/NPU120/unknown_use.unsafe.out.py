def make(registry):
    registry.register("npu")
