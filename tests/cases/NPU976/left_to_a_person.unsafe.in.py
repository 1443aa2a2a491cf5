import onnxruntime as ort

ort.InferenceSession("a.onnx", providers=["TensorrtExecutionProvider"])
ort.InferenceSession(
    "a.onnx", providers=["TensorrtExecutionProvider", "CPUExecutionProvider"], provider_options=[{}, {}]
)
if "TensorrtExecutionProvider" in ort.get_available_providers():
    print("TensorRT")
