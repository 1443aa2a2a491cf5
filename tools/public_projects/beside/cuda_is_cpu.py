"""For the original, where it takes CUDA for granted: what it asks of CUDA is done on the CPU, in float32 as written.

The mirror of ``transfer_to_npu``: names mean another device, the program's text stays. Autocast for CUDA stays what it
is on a machine without CUDA: off.
"""

import contextlib


def apply(torch, count):
    from torch.overrides import TorchFunctionMode

    def meant(value):
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        return "cpu" if isinstance(value, str) and value.partition(":")[0] == "cuda" else value

    def place(args, kwargs):
        """Arguments of ``to``, whose first may be the number of a device."""
        args = tuple("cpu" if type(one) is int and at == 0 else meant(one) for at, one in enumerate(args))
        return args, {
            name: "cpu" if name == "device" and type(one) is int else meant(one) for name, one in kwargs.items()
        }

    class OnCPU(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = getattr(func, "__name__", "")
            if name == "cuda" and args:
                return args[0]
            if func is torch.device and args and type(args[0]) is int:
                return func("cpu")
            if name in ("to", "_to"):
                moved, kwargs = place(args[1:], kwargs)
                return func(args[0], *moved, **kwargs)
            if type(kwargs.get("device")) is int:
                kwargs = {**kwargs, "device": "cpu"}
            return func(*args, **{key: meant(one) for key, one in kwargs.items()})

    OnCPU().__enter__()

    module_to = torch.nn.Module.to
    torch.nn.Module.to = lambda self, *args, **kwargs: module_to(
        self, *place(args, kwargs)[0], **place(args, kwargs)[1]
    )
    torch.nn.Module.cuda = lambda self, device=None: self
    torch.Tensor.pin_memory = lambda self, device=None: self  # also in a loader's thread, where no mode is active

    torch.version.cuda = torch.version.cuda or "13.0"  # what torchvision was built for
    cuda = torch.cuda
    current = [0]
    cuda.is_available = lambda: True
    cuda.device_count = lambda: count
    cuda.current_device = lambda: current[0]
    cuda.set_device = lambda device: current.__setitem__(
        0, torch.device(device).index if type(device) is not int else device
    )
    cuda.get_device_name = lambda device=None: "CPU"
    cuda.is_bf16_supported = lambda including_emulation=True: True
    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats", "manual_seed", "manual_seed_all"):
        setattr(cuda, name, lambda *args, **kwargs: None)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        setattr(cuda, name, lambda device=None: 0)
    cuda.device, cuda.Event = _no_device, _HostEvent
    cuda.memory_summary = lambda device=None, abbreviated=False: ""
    for name in ("Float", "Double", "Half", "Long", "Int", "Short", "Byte", "Bool"):
        setattr(cuda, f"{name}Tensor", getattr(torch, f"{name}Tensor"))
    set_default_tensor_type = torch.set_default_tensor_type
    torch.set_default_tensor_type = lambda kind: set_default_tensor_type(
        kind.replace("cuda.", "") if isinstance(kind, str) else kind
    )
    torch.accelerator.is_available = lambda: True
    torch.accelerator.device_count = lambda: count
    torch.accelerator.current_accelerator = lambda check_available=False: torch.device("cpu")
    torch.accelerator.current_device_index = lambda: current[0]
    torch.accelerator.set_device_index = torch.accelerator.set_device_idx = lambda device: None

    distributed = torch.distributed
    init_process_group = distributed.init_process_group

    def init(backend=None, *args, **kwargs):
        kwargs.pop("device_id", None)
        return init_process_group("gloo" if backend == "nccl" else backend, *args, **kwargs)

    distributed.init_process_group = init
    barrier = distributed.barrier
    distributed.barrier = lambda *args, device_ids=None, **kwargs: barrier(*args, **kwargs)

    from torch.nn.parallel import DistributedDataParallel

    made = DistributedDataParallel.__init__

    def on_cpu(self, module, device_ids=None, output_device=None, *args, **kwargs):
        made(self, module, None, None, *args, **kwargs)

    DistributedDataParallel.__init__ = on_cpu
    torch.nn.DataParallel.__init__ = _one_device(torch)
    if count == 1:  # of one process, the statistics are its own; the layer itself refuses the CPU
        torch.nn.SyncBatchNorm.convert_sync_batchnorm = lambda module, process_group=None: module

    load = torch.load
    torch.load = lambda file, map_location=None, *args, **kwargs: load(
        file, "cpu" if map_location is None or meant(map_location) == "cpu" else map_location, *args, **kwargs
    )
    autocast = torch.autocast
    torch.autocast = _autocast_off(autocast)
    torch.cuda.amp.autocast.__init__ = lambda self, *args, **kwargs: autocast.__init__(self, "cpu", enabled=False)
    _scale_on_cpu(torch)


class _HostEvent:
    """What stands for an event: everything has ended when it is recorded, and took no time."""

    def __init__(self, *args, **kwargs):
        pass

    def record(self, stream=None):
        pass

    def synchronize(self):
        pass

    def query(self):
        return True

    def elapsed_time(self, other):
        return 0.0


def _no_device(device):
    """The context that makes one device the current one."""
    return contextlib.nullcontext()


def _scale_on_cpu(torch):
    """GradScaler takes its numbers from the CPU; those of CUDA are made of it."""
    made = torch.amp.GradScaler.__init__

    def init(self, device="cuda", *args, **kwargs):
        made(self, "cpu" if str(device).startswith("cuda") else device, *args, **kwargs)

    torch.amp.GradScaler.__init__ = init
    torch.cuda.amp.GradScaler.__init__ = lambda self, *args, **kwargs: init(self, "cuda", *args, **kwargs)


def _one_device(torch):
    """DataParallel without devices hands each call to its module, as it does by itself where there is no GPU."""

    def init(self, module, device_ids=None, output_device=None, dim=0):
        torch.nn.Module.__init__(self)
        self.module, self.device_ids, self.dim, self.output_device = module, [], dim, None

    return init


def _autocast_off(autocast):
    class Autocast(autocast):
        def __init__(self, device_type, *args, **kwargs):
            if device_type == "cuda":
                device_type, args, kwargs = "cpu", (), {"enabled": False}
            super().__init__(device_type, *args, **kwargs)

    return Autocast
