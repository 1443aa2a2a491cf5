import cupy
import torch

import compute_device

stream = cupy.cuda.ExternalStream(compute_device.api.current_stream().cuda_stream)
