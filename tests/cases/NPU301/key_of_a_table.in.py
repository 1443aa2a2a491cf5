PORTS = {"nccl": 29500, "gloo": 29501}
print(PORTS)
