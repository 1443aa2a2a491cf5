import pynvml
try:
    pynvml.nvmlInit()
except pynvml.NVMLError:
    pass

def memory():
    return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).free
