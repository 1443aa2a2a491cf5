from torch_npu.npu import amp
import torch.distributed as dist
import torch_npu

ready = torch_npu.distributed.is_hccl_available()
scaler = amp.GradScaler()
