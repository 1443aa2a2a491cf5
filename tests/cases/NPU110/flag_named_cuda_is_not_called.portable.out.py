import torch

import compute_device


class Trainer:
    def __init__(self, model):
        self.cuda = compute_device.api.is_available()
        self.model = model.to(compute_device.type) if self.cuda else model

    def step(self, batch):
        return self.model(batch.to(compute_device.type) if self.cuda else batch)
