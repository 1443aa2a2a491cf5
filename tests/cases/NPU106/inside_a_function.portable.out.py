def scaler():
    from compute_device import GradScaler

    return GradScaler(enabled=True)
