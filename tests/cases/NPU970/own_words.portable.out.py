import onnxruntime as ort
import paddle.distributed as dist
import torch
import xgboost
from faster_whisper import WhisperModel

import compute_device

session = ort.InferenceSession("net.onnx")
binding = session.io_binding()
x = torch.zeros(2, device=compute_device.type)
binding.bind_input("x", device_type="cuda", device_id=0)
value = ort.OrtValue.ortvalue_from_numpy(x.cpu().numpy(), "cuda", 0)
group = dist.new_group([0, 1], backend="nccl")
trees = xgboost.XGBClassifier(device="cuda")
speech = WhisperModel("small", device="cuda", compute_type="float16")
