import torch
from torchvision.utils import save_image
save_image(images, "images.png", normalize=True, value_range=(-1, 1))
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
