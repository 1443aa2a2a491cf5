import torch

blocks = torch.cuda.get_device_properties(0).multi_processor_count * 4
