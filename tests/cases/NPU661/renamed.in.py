import torch
import torchvision.utils as vutils
from torchvision.utils import make_grid, save_image


def show(images, optimizer, span):
    save_image(images, "a.png", normalize=True, range=(-1, 1))
    vutils.save_image(images, "b.png", range = span, nrow=4)
    grid = make_grid(images, value_range=span)
    plain = range(3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, verbose=True)
    other = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer,
        patience=3,
        verbose=True,
        factor=0.1,
    )
    return grid, plain, scheduler, other
