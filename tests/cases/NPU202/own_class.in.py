class GradScaler:
    def __init__(self, enabled=True):
        self.enabled = enabled


scaler = GradScaler(enabled=True)
