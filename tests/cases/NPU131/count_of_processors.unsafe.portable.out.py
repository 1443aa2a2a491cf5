import torch

import compute_device

blocks = (getattr(compute_device.api.get_device_properties(0), "multi_processor_count", None) or 1) * 4
