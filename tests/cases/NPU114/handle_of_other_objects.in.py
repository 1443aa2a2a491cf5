import torch
from cuda.core import Stream


def wrap(stream: Stream):
    return stream.handle, torch.Stream
