"""What training programs use of torchvision, over made-up pictures: its wheels for the CPU are not everywhere."""

from . import datasets, models, transforms, utils
