from paddle.inference import Config

config = Config("net.pdmodel", "net.pdiparams")
config.enable_custom_device("npu", 0)
