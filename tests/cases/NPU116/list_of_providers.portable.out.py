import onnxruntime

session = onnxruntime.InferenceSession("m.onnx", providers=["CANNExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"])
