"""Writes to files what would go to W&B: one file for each run that is not disabled."""

import os
from pathlib import Path


class _Run:
    def __init__(self, mode):
        self.config = self
        self.mode = mode

    def update(self, *args, **kwargs):
        pass

    def log(self, values, *args, **kwargs):
        if self.mode != "disabled":
            with Path(f"wandb-{os.getpid()}.txt").open("a") as file:
                file.write(f"{sorted(values)}\n")


def init(*args, mode=None, **kwargs):
    return _Run(mode)


def Image(value, *args, **kwargs):
    return value


def Histogram(value, *args, **kwargs):
    return value
