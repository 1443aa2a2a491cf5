"""Data sets of made-up pictures; a ``download`` that two processes do at the same time fails."""

import os
import time
from pathlib import Path

import torch

TRAIN, TEST = 64, 23


class _Pictures(torch.utils.data.Dataset):
    shape = (28, 28)
    classes = [str(one) for one in range(10)]

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        folder = Path(root) / type(self).__name__
        if download:
            self._download(folder)
        if not (folder / "done").exists():
            raise RuntimeError("Dataset not found. You can use download=True to download it")
        made = torch.Generator().manual_seed(1 if train else 2)
        count = TRAIN if train else TEST
        self.targets = torch.randint(10, (count,), generator=made).tolist()
        self.data = torch.randint(256, (count, *self.shape), generator=made, dtype=torch.uint8)
        for place, target in enumerate(self.targets):
            self.data[place, target * 2 : target * 2 + 3] = 255
        self.transform, self.target_transform = transform, target_transform

    def _download(self, folder):
        if (folder / "done").exists():
            return
        os.makedirs(folder, exist_ok=True)
        with open(folder / "part", "x"):  # fails where another process is at it
            time.sleep(0.3)
        os.rename(folder / "part", folder / "done")

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        picture, target = self.data[index], self.targets[index]
        if self.transform is not None:
            picture = self.transform(picture)
        return picture, self.target_transform(target) if self.target_transform is not None else target


class MNIST(_Pictures):
    pass


class FashionMNIST(_Pictures):
    pass


class CIFAR10(_Pictures):
    shape = (32, 32, 3)


class CIFAR100(_Pictures):
    shape = (32, 32, 3)
