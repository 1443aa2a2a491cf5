import accelerate
from accelerate import Accelerator
from accelerate.utils import DistributedType as Kind

accelerator = Accelerator()


class Distribution:
    MULTI_GPU = 2


def several():
    if accelerator.distributed_type == Kind.MULTI_NPU:
        return 1
    if accelerator.distributed_type != accelerate.DistributedType.MULTI_NPU:
        return 2
    if accelerator.state.distributed_type in (Kind.MULTI_NPU, Kind.FSDP):
        return 3
    if accelerator.distributed_type == "MULTI_NPU":
        return 4
    return Kind.MULTI_NPU


def others(name):
    if accelerator.distributed_type in (Kind.MULTI_GPU, Kind.MULTI_NPU):
        return 1
    if accelerator.distributed_type == Kind.MULTI_NPU:
        return 2
    elif accelerator.distributed_type == Kind.MULTI_GPU:
        return 3
    return Distribution.MULTI_GPU if name == "MULTI_GPU" else {"MULTI_GPU": 4}[name]
