import torch

import compute_device


class Recorder:
    cuda = None


def quiet(recorder):
    compute_device.api.synchronize = lambda: None
    del compute_device.api.memory_stats
    torch.cuda_is_there = True
    recorder.cuda = compute_device.api
    recorder.cuda.note = "of its own"
    Recorder.cuda = 1
