import cv2
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import spacy
import torch
from decord import VideoReader, cpu, gpu
from llama_cpp import Llama

net = cv2.dnn.readNetFromONNX("net.onnx")
net.setPreferableBackend(cv2.dnn.DNN_BACKEND_CUDA)
frame = cv2.cuda.GpuMat()
spacy.require_gpu()
on_a_gpu = VideoReader("a.mp4", ctx=gpu(0))
on_the_host = VideoReader("a.mp4", ctx=cpu(0))
model = Llama(model_path="m.gguf", n_gpu_layers=-1)
x = torch.zeros(2)
