import torch
import torch_npu  # noqa: F401


class Trainer:
    def __init__(self, model):
        self.cuda = torch.npu.is_available()
        self.model = model.npu() if self.cuda else model

    def step(self, batch):
        return self.model(batch.npu() if self.cuda else batch)
