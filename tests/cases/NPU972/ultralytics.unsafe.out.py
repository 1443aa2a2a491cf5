import sglang
from ultralytics import YOLO

from mine import Engine, model

net = YOLO("yolo26n.pt")
net.train(data="coco.yaml", device="npu:0", epochs=3)
net.train(data="coco.yaml", device="npu:0,1")  # two cards
net.predict("x.jpg", device='npu:2')
YOLO("a.pt").export(format="engine", half=True)
net.export(format="onnx", device="cpu")
net.val(device=None, batch=16)

model.train(data="coco.yaml", device=0)  # whose model this is cannot be told
mixed = YOLO("b.pt")
if model:
    mixed = model
mixed.train(device=0)
Engine(attention_backend="flashinfer", device=0)

llm = sglang.Engine(
    model_path="facebook/opt-125m",
    attention_backend='ascend',
    page_size=128,
    sampling_backend="pytorch",
    cuda_graph_max_bs=32,
    mem_fraction_static=0.8,
)
