import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import onnxruntime as ort
import paddle.distributed as dist
import torch
import xgboost
from faster_whisper import WhisperModel

session = ort.InferenceSession("net.onnx")
binding = session.io_binding()
x = torch.zeros(2, device="cuda")
binding.bind_input("x", device_type="cann", device_id=0)
value = ort.OrtValue.ortvalue_from_numpy(x.cpu().numpy(), "cann", 0)
group = dist.new_group([0, 1], backend="xccl")
trees = xgboost.XGBClassifier(device="cuda")
speech = WhisperModel("small", device="cuda", compute_type="float16")
