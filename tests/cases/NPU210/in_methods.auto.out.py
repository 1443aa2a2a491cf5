import torch
import torch_npu  # noqa: F401


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.npu.amp.GradScaler()

    def step(self, inputs, targets):
        self.optimizer.zero_grad()
        with torch.npu.amp.autocast():
            loss = torch.nn.functional.cross_entropy(self.model(inputs), targets)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
