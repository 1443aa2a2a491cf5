import os

import pynvml as nvml

try:
    nvml.nvmlInit()  # once for all
except nvml.NVMLError:
    pass


def memory(index):
    return nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByIndex(index)).free


def cards():
    nvml.nvmlInit()
    return nvml.nvmlDeviceGetCount()
