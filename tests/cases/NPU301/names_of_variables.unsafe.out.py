def transports(registry):
    registry.add("hccl")
