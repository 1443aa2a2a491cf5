import torch
import torch_npu  # noqa: F401

def train(model, optimizer, criterion, loader):
    scaler = torch.npu.amp.GradScaler()
    for inputs, targets in loader:
        with torch.npu.amp.autocast():
            outputs = model(inputs)
            loss = criterion(outputs, targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
