import torch

import compute_device

if compute_device.type != "npu":
    import apex.parallel


def wrap(model):
    model = (
        torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        if compute_device.type == "npu"
        else apex.parallel.convert_syncbn_model(model)
    )
    return (
        torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
        if compute_device.type == "npu"
        else apex.parallel.DistributedDataParallel(model, message_size=10_000_000, gradient_average=True)
    )
