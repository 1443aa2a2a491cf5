import torch
import torch_npu  # noqa: F401
import npuify_nvml as pynvml

pynvml.nvmlInit()


def report():
    for i in range(pynvml.nvmlDeviceGetCount()):
        handle = pynvml.nvmlDeviceGetHandleByIndex(i)
        info = pynvml.nvmlDeviceGetMemoryInfo(handle)
        print(i, pynvml.nvmlDeviceGetName(handle), info.used <= info.total, pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)


x = torch.ones(2).npu()
report()
print(x.sum().item())
pynvml.nvmlShutdown()
