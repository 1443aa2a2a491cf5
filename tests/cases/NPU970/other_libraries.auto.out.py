import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import lightning as L
import torch
import torchvision
import warp as wp
from torchaudio.io import StreamReader

wp.set_device("cuda")
grid = wp.zeros(3, device="cuda:0")
with wp.ScopedDevice("cuda:0"):
    pass
reader = StreamReader("a.mp4")
reader.add_video_stream(1, decoder="h264_cuvid", hw_accel="cuda:0")
reader.add_basic_video_stream(1, hw_accel="cuda")
torchvision.set_video_backend("cuda")
x = torch.zeros(2, device="cuda")
chosen = L.Trainer(accelerator="cuda" if torch.cuda.is_available() else "cpu")
named = "cuda" if x.sum() == 0 else "cpu"
handed = L.Fabric(accelerator=named)
