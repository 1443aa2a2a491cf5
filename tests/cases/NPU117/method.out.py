import torch

lib = torch.library.Library("mine", "IMPL")
lib.impl("scale", lambda x: x * 2, 'PrivateUse1')
