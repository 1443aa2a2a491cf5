import numpy as np
import torch


def blobs(count: int, size: int = 128, seed: int = 0) -> torch.Tensor:
    """``count`` grey images, 1 x size x size, with one to three bright blobs each."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32)
    images = rng.normal(0, 0.05, (count, 1, size, size)).astype(np.float32)
    for image in images:
        for _ in range(rng.integers(1, 4)):
            cx, cy = rng.uniform(0.1, 0.9, 2) * size
            image[0] += np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * (size / 20) ** 2))
    return torch.from_numpy(images)


# The sea of the test pictures; the names are those of the files on the server.
SAMPLES = {
    "barracuda": "https://images.example.org/fish/barracuda-001.png",
    "plymouth_cuda": "https://images.example.org/cars/cuda/1970.png",
}
