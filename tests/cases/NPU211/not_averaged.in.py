from apex.parallel import DistributedDataParallel as DDP


def wrap(model, other):
    return DDP(model, gradient_average=False, gradient_predivide_factor=2.0), DDP(other, delay_allreduce=True)
