import os

import pynvml as nvml

nvml.nvmlInit()  # once for all


def memory(index):
    return nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByIndex(index)).free


def cards():
    nvml.nvmlInit()
    return nvml.nvmlDeviceGetCount()
