from apex.optimizers import FusedAdam


def optimizer(parameters, **options):
    return FusedAdam(parameters, **options)
