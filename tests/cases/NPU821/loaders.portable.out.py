import torch
from ffcv.fields.decoders import IntDecoder
from ffcv.transforms import NormalizeImage, ToDevice, ToTensor, ToTorchImage

import compute_device

move = ToDevice(torch.device(f"{compute_device.type}:0"), non_blocking=False)
waits = ToDevice(torch.device(f"{compute_device.type}:0"), non_blocking=False)
stays = ToDevice("cpu")
images = [NormalizeImage(0, 1, float), ToTensor(), move, ToTorchImage()]
