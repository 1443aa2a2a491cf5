from torch import amp

scaler = amp.GradScaler("npu")
amp.initialize(scaler)
