import torch

import compute_device

if compute_device.type != "npu":
    from apex import amp


def main(model, optimizer, loader):
    if compute_device.type == "npu":
        scaler = compute_device.GradScaler()
    else:
        model, optimizer = amp.initialize(model, optimizer, opt_level="O1", verbosity=0)
    for batch in loader:
        optimizer.zero_grad()
        with compute_device.autocast(enabled=compute_device.type == "npu"):
            loss = model(
                batch  # all of it
            ).mean()
        if compute_device.type == "npu":
            scaler.scale(loss).backward(retain_graph=True)
            scaler.unscale_(optimizer)
        else:
            with amp.scale_loss(loss, optimizer) as scaled:  # scaled
                scaled.backward(retain_graph=True)
        torch.nn.utils.clip_grad_norm_((
            model.parameters()
            if compute_device.type == "npu"
            else amp.master_params(optimizer)
        ), 1.0)
        if compute_device.type == "npu":
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
    torch.save({"amp": (scaler if compute_device.type == "npu" else amp).state_dict()}, "checkpoint")
