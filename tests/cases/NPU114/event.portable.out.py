import torch

import compute_device

done = compute_device.api.Event()
print(done.cuda_event)
