import torch

import compute_device

if compute_device.type != "npu":
    import apex
    from apex.parallel import DistributedDataParallel


def wrap(model, late, world):
    if late:
        return (
            torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=late, broadcast_buffers=False)
            if compute_device.type == "npu"
            else apex.parallel.DistributedDataParallel(model, 10000000, late)
        )
    return (
        torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
        if compute_device.type == "npu"
        else DistributedDataParallel(model, delay_allreduce=False, gradient_predivide_factor=world)
    )
