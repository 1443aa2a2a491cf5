from compute_device import api as cuda

print(cuda.get_device_name(0), cuda.get_device_name(0))
