import torch

import compute_device

if compute_device.type != "npu":
    from apex import amp


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        if compute_device.type == "npu":
            self.scaler = compute_device.GradScaler()
        else:
            self.model, self.optimizer = amp.initialize(self.model, self.optimizer)

    def step(self, inputs, targets):
        self.optimizer.zero_grad()
        with compute_device.autocast(enabled=compute_device.type == "npu"):
            loss = torch.nn.functional.cross_entropy(self.model(inputs), targets)
        if compute_device.type == "npu":
            self.scaler.scale(loss).backward()
        else:
            with amp.scale_loss(loss, self.optimizer) as scaled_loss:
                scaled_loss.backward()
        if compute_device.type == "npu":
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
