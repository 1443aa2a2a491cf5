import compute_device
class Backend:
    def devices(self):
        import torch as th

        return [compute_device.api.get_device_name(i) for i in range(compute_device.api.device_count())]
