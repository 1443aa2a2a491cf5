import onnxruntime as ort

one = ort.InferenceSession("a.onnx", providers=["TensorrtExecutionProvider", "CPUExecutionProvider"])
two = ort.InferenceSession(
    "a.onnx",
    providers=[
        ("TensorrtExecutionProvider", {"trt_fp16_enable": True}),
        (
            "CPUExecutionProvider",
            {
                "device_id": 1,
                "gpu_mem_limit": 1 << 30,
                "cudnn_conv_use_max_workspace": "1",
                "arena_extend_strategy": "kSameAsRequested",
            },
        ),
    ],
)
if "GPU" in ort.get_device():
    print("a card")
if ort.get_device() != "GPU":
    print("none")
