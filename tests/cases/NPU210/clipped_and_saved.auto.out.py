import torch
import torch_npu  # noqa: F401


def main(model, optimizer, loader):
    scaler = torch.npu.amp.GradScaler()
    for batch in loader:
        optimizer.zero_grad()
        with torch.npu.amp.autocast():
            loss = model(
                batch  # all of it
            ).mean()
        # scaled
        scaler.scale(loss).backward(retain_graph=True)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    torch.save({"amp": scaler.state_dict()}, "checkpoint")
