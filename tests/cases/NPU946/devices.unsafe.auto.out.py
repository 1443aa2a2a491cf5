import argparse

import paddle

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="npu", choices=["npu", "cpu"])
parser.add_argument("--name", default="gpu")
args = parser.parse_args()
paddle.set_device(args.device)
paddle.device.set_device(f"npu:{paddle.distributed.get_rank()}")
paddle.set_device("npu:" + str(1))
x = paddle.to_tensor([1.0], place="npu")
net = paddle.nn.Linear(1, 1)
net.to("npu:0")
if paddle.get_device().startswith("npu"):
    print("gpu")
kinds = {"gpu": 1}
if args.name == "gpu":
    print(kinds["gpu"])
