import torch
import torch.cuda as tc
import torch.cuda.amp as amp

tc.synchronize()
scaler = amp.GradScaler()
