import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_backend() == "mpi":
    dist.barrier()
