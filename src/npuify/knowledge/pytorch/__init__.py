"""Tables of PyTorch itself: names that are gone, operators behind functions, stand-ins, ``torch.accelerator``."""
