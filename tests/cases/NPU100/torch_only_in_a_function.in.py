def ready():
    import torch

    return torch.cuda.is_available()
