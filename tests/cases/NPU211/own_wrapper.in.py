from apexes.parallel import DistributedDataParallel


def wrap(model):
    return DistributedDataParallel(model, delay_allreduce=True, gradient_predivide_factor=2.0)
