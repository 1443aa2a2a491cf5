import torch
from ultralytics import YOLO

model = YOLO("yolo11n.pt")
model.train(data="coco8.yaml", epochs=3, device="npu:0")
model.val(device="npu:0")
for result in model.track(
    "video.mp4",
    stream=True, device="npu:0",
):
    print(result)
model.predict("a.jpg", device="cpu")
model.train(**{"device": "cpu"})
model.tune(cfg="mine.yaml")
model.export(format="onnx")
model.fuse()


class Mine(torch.nn.Module):
    pass


net = Mine()
net.train()
