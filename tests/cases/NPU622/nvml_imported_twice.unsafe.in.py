import torch
import pynvml


def start():
    pynvml.nvmlInit()


def count():
    import os, pynvml
    return os.getpid(), pynvml.nvmlDeviceGetCount(), pynvml.nvmlDeviceGetTemperature(pynvml.nvmlDeviceGetHandleByIndex(0), 0)


start()
print(count(), torch.ones(1))
