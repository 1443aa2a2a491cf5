import torch
import xgboost
from faster_whisper import WhisperModel

import compute_device

device = compute_device.type if compute_device.api.is_available() else "cpu"
net = torch.nn.Linear(2, 2).to(device)
trees = xgboost.XGBClassifier(device=device)
heard = WhisperModel("large-v3", device)
apart = WhisperModel("large-v3", device="cpu")
