import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn import SyncBatchNorm
model = SyncBatchNorm.convert_sync_batchnorm(torch.nn.Linear(2, 2))
model = DDP(model, find_unused_parameters=True, broadcast_buffers=False)
