import torch
from torch import nn


class BlobNet(nn.Module):
    """A heat map of blob centres, at a quarter of the image's size."""

    def __init__(self, channels: int = 16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, channels, 5, stride=2, padding=2),
            nn.SiLU(),
            nn.Conv2d(channels, channels, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(channels, 1, 1),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.body(images))
