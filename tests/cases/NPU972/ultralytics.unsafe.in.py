import sglang
from ultralytics import YOLO

from mine import Engine, model

net = YOLO("yolo26n.pt")
net.train(data="coco.yaml", device=0, epochs=3)
net.train(data="coco.yaml", device=[0, 1])  # two cards
net.predict("x.jpg", device='2')
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
    attention_backend='fa3',
    page_size=16,
    sampling_backend="flashinfer",
    cuda_graph_max_bs=32,
    mem_fraction_static=0.8,
)
