def scaler():
    from torch_npu.npu.amp import GradScaler

    return GradScaler(enabled=True)
