import torch

import compute_device

if compute_device.type != "npu":
    from apex.parallel import DistributedDataParallel as DDP, convert_syncbn_model
model = (
    torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.Linear(2, 2))
    if compute_device.type == "npu"
    else convert_syncbn_model(torch.nn.Linear(2, 2))
)
model = (
    torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=True, broadcast_buffers=False)
    if compute_device.type == "npu"
    else DDP(model, delay_allreduce=True)
)
