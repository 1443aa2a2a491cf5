import torch.distributed as dist

print(dist.Backend.GLOO, dist.Backend.MPI)
