from torch import cuda

print(cuda.get_device_name(device=0), cuda.get_device_name(0))
