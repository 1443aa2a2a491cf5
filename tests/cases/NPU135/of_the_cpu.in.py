import torch

torch.set_default_tensor_type(torch.DoubleTensor)  # on the CPU, also where there is cuda
torch.set_default_tensor_type("torch.HalfTensor")
