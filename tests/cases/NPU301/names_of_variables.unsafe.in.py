def transports(registry):
    registry.add("nccl")
