def needs_cards(backend):
    return backend in ("nccl", "hccl")


TABLE = {"nccl": 1, "hccl": 2}
print(TABLE["hccl"])
