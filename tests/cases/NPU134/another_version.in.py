from tools import nccl

print(nccl.version())
