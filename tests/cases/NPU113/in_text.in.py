import torch

print("expected torch.cuda.FloatTensor but got", torch.zeros(2).type())
MESSAGE = """torch.cuda.HalfTensor
is what half() gives on a card"""
