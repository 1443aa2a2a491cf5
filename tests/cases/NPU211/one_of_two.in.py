def wrap(model, native):
    if native:
        from torch.nn.parallel import DistributedDataParallel as DDP
    else:
        from apex.parallel import DistributedDataParallel as DDP
    return DDP(model)
