"""Transformations of tensors; the random ones do nothing, so that runs can be compared."""

import torch


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, picture):
        for one in self.transforms:
            picture = one(picture)
        return picture


class ToTensor:
    def __call__(self, picture):
        picture = picture.float() / 255
        return picture.unsqueeze(0) if picture.dim() == 2 else picture.permute(2, 0, 1)


class Normalize:
    def __init__(self, mean, std, inplace=False):
        self.mean, self.std = torch.tensor(mean), torch.tensor(std)

    def __call__(self, picture):
        return (picture - self.mean[:, None, None]) / self.std[:, None, None]


class Resize:
    def __init__(self, size, *args, **kwargs):
        self.size = size if isinstance(size, (tuple, list)) else (size, size)

    def __call__(self, picture):
        flat = picture.dim() == 2
        channels_first = picture[None] if flat else picture.permute(2, 0, 1)
        sized = torch.nn.functional.interpolate(channels_first[None].float(), tuple(self.size))[0].to(picture.dtype)
        return sized[0] if flat else sized.permute(1, 2, 0)


class _Nothing:
    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, picture):
        return picture


class RandomCrop(_Nothing):
    pass


class RandomHorizontalFlip(_Nothing):
    pass


class Pad(_Nothing):
    pass


class RandomResizedCrop(Resize):
    pass


class CenterCrop(Resize):
    pass
