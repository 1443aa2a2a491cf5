import torch

import compute_device

if compute_device.type != "npu":
    from apex import amp

def train(model, optimizer, criterion, loader):
    if compute_device.type == "npu":
        scaler = compute_device.GradScaler()
    else:
        model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for inputs, targets in loader:
        with compute_device.autocast(enabled=compute_device.type == "npu"):
            outputs = model(inputs)
            loss = criterion(outputs, targets)
        optimizer.zero_grad()
        if compute_device.type == "npu":
            scaler.scale(loss).backward()
        else:
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
        if compute_device.type == "npu":
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
