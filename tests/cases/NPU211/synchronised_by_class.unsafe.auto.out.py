import torch


def wrap(model):
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    return torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
