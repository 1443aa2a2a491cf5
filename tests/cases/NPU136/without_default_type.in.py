import torch

x = torch.Tensor(2, 3)
y = torch.Tensor([1.0]) + x
torch.set_default_tensor_type("torch.DoubleTensor")
print(y)  # with cuda or without
