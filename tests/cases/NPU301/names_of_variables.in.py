import os

for name in os.environ:
    if "NCCL" in name:
        print(name)


def prefixes():
    return ["NCCL", "LD_LIBRARY", "PATH"]
