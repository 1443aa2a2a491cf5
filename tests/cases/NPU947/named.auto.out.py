import paddle.inference as pdi


def load(model, params, cuda, mode):
    config = pdi.Config(model, params)
    if cuda:
        config.enable_custom_device("npu", 1)
    other = pdi.Config(model, params)
    other.enable_custom_device("npu", 1)
    third = pdi.Config(model, params)
    third.enable_custom_device("npu", 0)
    fourth = pdi.Config(model, params)
    fourth.enable_use_gpu(2048, 0, precision_mode=mode)
    return config, other, third, fourth
