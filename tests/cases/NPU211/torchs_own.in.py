from torch.nn.parallel import DistributedDataParallel
from mine.parallel import convert_syncbn_model


def wrap(model):
    return DistributedDataParallel(convert_syncbn_model(model))
