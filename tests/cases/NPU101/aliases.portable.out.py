import torch as th

import compute_device

cuda = compute_device.api
cuda.synchronize()
sync = compute_device.api.synchronize
stream = compute_device.api.Stream(priority=-1)
with compute_device.api.stream(stream):
    sync()
