import torch

try:
    from apex import amp
except ImportError:
    amp = None


def backward(loss, optimizer):
    if amp is not None:
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    else:
        loss.backward()
