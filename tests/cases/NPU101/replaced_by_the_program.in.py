import torch


class Recorder:
    cuda = None


def quiet(recorder):
    torch.cuda.synchronize = lambda: None
    del torch.cuda.memory_stats
    torch.cuda_is_there = True
    recorder.cuda = torch.cuda
    recorder.cuda.note = "of its own"
    Recorder.cuda = 1
