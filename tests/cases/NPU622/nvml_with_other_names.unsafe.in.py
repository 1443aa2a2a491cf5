import torch
from pynvml import nvmlDeviceGetHandleByIndex, nvmlDeviceGetMemoryInfo, nvmlInit, nvmlDeviceGetTemperature, NVML_TEMPERATURE_GPU

nvmlInit()
h = nvmlDeviceGetHandleByIndex(0)
print(nvmlDeviceGetMemoryInfo(h).free, nvmlDeviceGetTemperature(h, NVML_TEMPERATURE_GPU), torch.ones(1))
