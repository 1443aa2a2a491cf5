def ready():
    import torch

    return torch.npu.is_available()
