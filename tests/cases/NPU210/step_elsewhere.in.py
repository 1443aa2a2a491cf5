import torch
from apex import amp


def train(model, optimizer, loader, every):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for number, batch in enumerate(loader):
        loss = model(batch).sum() / every
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        if (number + 1) % every == 0:
            optimizer.step()
