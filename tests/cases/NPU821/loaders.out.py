import torch
import torch_npu  # noqa: F401
from ffcv.fields.decoders import IntDecoder
from ffcv.transforms import NormalizeImage, ToDevice, ToTensor, ToTorchImage

move = ToDevice(torch.device("npu:0"), non_blocking=False)
waits = ToDevice(torch.device("npu:0"), non_blocking=False)
stays = ToDevice("cpu")
images = [NormalizeImage(0, 1, float), ToTensor(), move, ToTorchImage()]
