from apex.parallel import DistributedDataParallel


def wrap(model, always):
    return DistributedDataParallel(model, allreduce_always_fp32=always)
