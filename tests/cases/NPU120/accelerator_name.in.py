class Connector:
    def __init__(self, flag, devices):
        self._accelerator_flag = flag
        if devices[0].kind == "card":
            self._accelerator_flag = "cuda"

    def device(self):
        return self._accelerator_flag if self._accelerator_flag in ("cpu", "mps") else "auto"
