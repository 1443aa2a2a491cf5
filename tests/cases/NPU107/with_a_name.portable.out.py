import torch
from compute_device import api as tc
from compute_device import amp

tc.synchronize()
scaler = amp.GradScaler()
