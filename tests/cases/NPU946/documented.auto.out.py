import paddle

paddle.set_device("npu:0")
if "npu" in paddle.get_device():
    print("on the gpu")
