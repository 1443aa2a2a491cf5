import torch

import compute_device

if compute_device.type != "npu":
    from apex.parallel import DistributedDataParallel as DDP


def wrap(model, size):
    model = (
        torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=True, broadcast_buffers=False)
        if compute_device.type == "npu"
        else DDP(model, message_size=size, delay_allreduce=True, num_allreduce_streams=1, gradient_average=True)
    )
    return model.module
