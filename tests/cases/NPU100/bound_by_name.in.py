from torch.cuda import amp
import torch.distributed as dist

ready = dist.is_nccl_available()
scaler = amp.GradScaler()
