import torch

SYNCHRONIZE = {"cuda": torch.cuda.synchronize, "cpu": None, "default": None}
