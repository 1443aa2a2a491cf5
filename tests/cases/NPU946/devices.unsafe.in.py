import argparse

import paddle

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="gpu", choices=["gpu", "cpu"])
parser.add_argument("--name", default="gpu")
args = parser.parse_args()
paddle.set_device(args.device)
paddle.device.set_device(f"gpu:{paddle.distributed.get_rank()}")
paddle.set_device("gpu:" + str(1))
x = paddle.to_tensor([1.0], place="gpu")
net = paddle.nn.Linear(1, 1)
net.to("gpu:0")
if paddle.get_device().startswith("gpu"):
    print("gpu")
kinds = {"gpu": 1}
if args.name == "gpu":
    print(kinds["gpu"])
