import torch
from apex import amp


def train(model, optimizer, batch):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O2", loss_scale=128.0)
    loss = model(batch).sum()
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
