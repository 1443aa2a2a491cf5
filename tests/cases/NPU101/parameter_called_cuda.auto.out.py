import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
def move(batch, cuda=True):
    if cuda:
        batch = [item for item in batch]
    return batch


class Settings:
    cuda = False
    cuda_graph = None


print(Settings.cuda, Settings.cuda_graph)
