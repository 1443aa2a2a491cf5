import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


class Trainer:
    def __init__(self, model):
        self.cuda = torch.cuda.is_available()
        self.model = model.cuda() if self.cuda else model

    def step(self, batch):
        return self.model(batch.cuda() if self.cuda else batch)
