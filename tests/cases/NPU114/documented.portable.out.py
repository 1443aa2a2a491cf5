import torch

import compute_device

handle = compute_device.api.current_stream().cuda_stream
