import torch

device, dtype = "cuda", torch.bfloat16
kind, place = torch.float16, torch.device("cuda")
