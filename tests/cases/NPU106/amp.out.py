from torch_npu.npu.amp import GradScaler, autocast

scaler = GradScaler()
with autocast():
    pass
