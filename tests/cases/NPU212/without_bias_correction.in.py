from apex.optimizers import FusedAdam


def optimizer(parameters):
    return FusedAdam(parameters, lr=1e-3, bias_correction=False)
