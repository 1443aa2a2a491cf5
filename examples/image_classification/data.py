"""Drawn shapes as a data set: no download, the same images for the same seed."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

CLASSES = ("circle", "square", "triangle", "cross")


def draw(label: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """One image, 3 x size x size, of the shape that ``label`` names."""
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32)
    cx, cy = rng.uniform(0.35, 0.65, 2) * size
    radius = rng.uniform(0.15, 0.3) * size
    dx, dy = xx - cx, yy - cy
    if label == 0:
        mask = dx**2 + dy**2 < radius**2
    elif label == 1:
        mask = (np.abs(dx) < radius) & (np.abs(dy) < radius)
    elif label == 2:
        mask = (dy < radius) & (dy > 2 * np.abs(dx) - radius)
    else:
        mask = ((np.abs(dx) < radius / 3) | (np.abs(dy) < radius / 3)) & (np.maximum(np.abs(dx), np.abs(dy)) < radius)
    image = rng.normal(0.0, 0.1, (3, size, size)).astype(np.float32)
    colour = rng.uniform(0.5, 1.0, 3).astype(np.float32)
    image += mask[None] * colour[:, None, None]
    return image


class Shapes(Dataset):
    """``length`` images; image ``i`` always has the label ``i % 4``."""

    def __init__(self, length: int, size: int = 32, seed: int = 0) -> None:
        self.length = length
        self.size = size
        self.seed = seed

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int):
        label = index % len(CLASSES)
        rng = np.random.default_rng((self.seed, index))
        return torch.from_numpy(draw(label, self.size, rng)), label


def build_loaders(args):
    use_cuda = torch.cuda.is_available()
    train = Shapes(args.train_size, args.image_size, seed=args.seed)
    val = Shapes(args.val_size, args.image_size, seed=args.seed + 1)
    common = dict(num_workers=args.workers, pin_memory=use_cuda, persistent_workers=args.workers > 0)
    train_loader = DataLoader(train, batch_size=args.batch_size, shuffle=True, drop_last=True, **common)
    val_loader = DataLoader(val, batch_size=args.batch_size * 2, shuffle=False, **common)
    return train_loader, val_loader
