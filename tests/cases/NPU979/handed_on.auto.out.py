import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import xgboost
from faster_whisper import WhisperModel

device = "cuda" if torch.cuda.is_available() else "cpu"
net = torch.nn.Linear(2, 2).to(device)
trees = xgboost.XGBClassifier(device=device)
heard = WhisperModel("large-v3", device)
apart = WhisperModel("large-v3", device="cpu")
