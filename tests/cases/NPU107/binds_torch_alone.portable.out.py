import torch.cuda

import compute_device

compute_device.api.empty_cache()
