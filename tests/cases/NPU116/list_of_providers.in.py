import onnxruntime

session = onnxruntime.InferenceSession("m.onnx", providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
