# mypy: ignore-errors
"""What programs ask of NVML most, asked of torch: the number of devices, their names, memory and load.

NVML numbers all GPUs of a machine; these functions number the NPUs that the program may see, as torch does. Memory is
that of the whole card, all processes together, in bytes, as with NVML. The load is that of the AI cores in percent; how
long memory was busy is not known. Asking a card opens it for this process, which NVML does not.
"""

import torch
import torch_npu  # noqa: F401


class NVMLError(Exception):
    """There is no such device."""


class _Memory:
    def __init__(self, free, total):
        self.total, self.free, self.used = total, free, total - free


class _Rates:
    def __init__(self, gpu):
        self.gpu = gpu

    @property
    def memory(self):
        raise NotImplementedError("how long the memory of an NPU was busy is not known")


def nvmlInit():
    """Nothing has to be started."""


def nvmlShutdown():
    """Nothing has to be ended."""


def nvmlDeviceGetCount():
    """The number of NPUs that the program may see."""
    return torch.npu.device_count()


def nvmlDeviceGetHandleByIndex(index):
    """What stands for a device: its number.

    Raises:
        NVMLError: there is no such device.
    """
    if not 0 <= int(index) < torch.npu.device_count():
        raise NVMLError(f"there is no NPU {index}")
    return int(index)


def nvmlDeviceGetIndex(handle):
    """The number of a device."""
    return handle


def nvmlDeviceGetName(handle):
    """The name of the chip, as a text."""
    return torch.npu.get_device_name(handle)


def nvmlDeviceGetMemoryInfo(handle):
    """``total``, ``free`` and ``used`` of the card, in bytes."""
    free, total = torch.npu.mem_get_info(handle)
    return _Memory(free, total)


def nvmlDeviceGetUtilizationRates(handle):
    """``gpu``: the load in percent; ``memory`` raises NotImplementedError."""
    return _Rates(torch.npu.utilization(handle))
