import torch.distributed as dist

print(dist.is_available(), dist.is_gloo_available(), dist.is_mpi_available())
