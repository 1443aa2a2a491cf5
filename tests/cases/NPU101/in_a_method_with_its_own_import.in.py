class Backend:
    def devices(self):
        import torch as th

        return [th.cuda.get_device_name(i) for i in range(th.cuda.device_count())]
