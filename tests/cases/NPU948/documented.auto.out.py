import paddle

x = paddle.ones([2]).to("npu")
if x.place.is_custom_place():
    print(x.place.custom_device_id())
