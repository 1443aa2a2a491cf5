import torch

import compute_device


class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = compute_device.api.Stream()

    def preload(self):
        try:
            self.next_input, self.next_target = next(self.loader)
        except StopIteration:
            self.next_input = None
            self.next_target = None
            return
        with compute_device.api.stream(self.stream):
            self.next_input = self.next_input.to(compute_device.type, non_blocking=True)
            self.next_target = self.next_target.to(compute_device.type, non_blocking=True)
