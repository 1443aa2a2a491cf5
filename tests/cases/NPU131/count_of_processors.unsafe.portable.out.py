import torch

import compute_device

blocks = compute_device.api.get_device_properties(0).multi_processor_count * 4
