from compute_device import GradScaler, autocast

scaler = GradScaler()
with autocast():
    pass
