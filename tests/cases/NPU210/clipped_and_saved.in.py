import torch
from apex import amp


def main(model, optimizer, loader):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1", verbosity=0)
    for batch in loader:
        optimizer.zero_grad()
        loss = model(
            batch  # all of it
        ).mean()
        with amp.scale_loss(loss, optimizer) as scaled:  # scaled
            scaled.backward(retain_graph=True)
        torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
        optimizer.step()
    torch.save({"amp": amp.state_dict()}, "checkpoint")
