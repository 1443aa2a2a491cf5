class Backend:
    def devices(self):
        import torch as th

        return [th.npu.get_device_name(i) for i in range(th.npu.device_count())]
