def scaler():
    from torch.cuda.amp import GradScaler

    return GradScaler(enabled=True)
