from torch_npu import npu as cuda

print(cuda.get_device_name(device_name=0), cuda.get_device_name(0))
