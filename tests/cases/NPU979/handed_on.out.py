import torch
import torch_npu  # noqa: F401
import xgboost
from faster_whisper import WhisperModel

device = "npu" if torch.npu.is_available() else "cpu"
net = torch.nn.Linear(2, 2).to(device)
trees = xgboost.XGBClassifier(device=device)
heard = WhisperModel("large-v3", device)
apart = WhisperModel("large-v3", device="cpu")
