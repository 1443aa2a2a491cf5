from compute_device import GradScaler, autocast
