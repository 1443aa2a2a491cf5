import torch
import torch_npu  # noqa: F401


class Recorder:
    cuda = None


def quiet(recorder):
    torch.npu.synchronize = lambda: None
    del torch.npu.memory_stats
    torch.cuda_is_there = True
    recorder.cuda = torch.npu
    recorder.cuda.note = "of its own"
    Recorder.cuda = 1
