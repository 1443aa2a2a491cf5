import onnxruntime

session = onnxruntime.InferenceSession("net.onnx")
binding = session.io_binding()
binding.bind_output("y", device_type="cann", device_id=0)
