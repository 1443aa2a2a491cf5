import paddle

place = paddle.CustomPlace("npu", 0) if paddle.is_compiled_with_custom_device("npu") else paddle.CPUPlace()
paddle.device.synchronize()
