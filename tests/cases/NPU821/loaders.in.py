import torch
from ffcv.fields.decoders import IntDecoder
from ffcv.transforms import NormalizeImage, ToDevice, ToTensor, ToTorchImage

move = ToDevice(torch.device("cuda:0"))
waits = ToDevice(torch.device("cuda:0"), non_blocking=False)
stays = ToDevice("cpu")
images = [NormalizeImage(0, 1, float), ToTensor(), move, ToTorchImage()]
