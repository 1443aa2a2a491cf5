import torch


def follow(window, magnitude):
    return window.cuda() if magnitude.is_cuda else window
