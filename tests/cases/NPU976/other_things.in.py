import onnxruntime as ort

settings = {"device_id": 0, "gpu_mem": 2}
if machine.get_device() == "GPU":
    print(settings)
if ort.get_device() == "CPU":
    print("CPU")
if kind == "GPU":
    print("none of ONNX Runtime's")
