import torch

SYNCHRONIZE = {"cuda": torch.cuda.synchronize, "cpu": None, "default": None}


def wait(name):
    function = SYNCHRONIZE.get(name, SYNCHRONIZE["default"])
    if function is not None:
        function()
