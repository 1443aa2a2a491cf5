import onnxruntime

options = {"device_id": 0, "npu_mem_limit": 2 * 1024**3}
providers = [("CANNExecutionProvider", options)]
if "CANN" in onnxruntime.get_device():
    session = onnxruntime.InferenceSession("net.onnx", providers=providers)
