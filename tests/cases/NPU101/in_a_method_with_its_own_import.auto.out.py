import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
class Backend:
    def devices(self):
        import torch as th

        return [th.cuda.get_device_name(i) for i in range(th.cuda.device_count())]
