import onnxruntime

PROVIDERS = ["CANNExecutionProvider", "CPUExecutionProvider"]
session = onnxruntime.InferenceSession("model.onnx", providers=PROVIDERS)
