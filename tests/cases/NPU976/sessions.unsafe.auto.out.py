import onnxruntime as ort

one = ort.InferenceSession("a.onnx", providers=["CPUExecutionProvider"])
two = ort.InferenceSession(
    "a.onnx",
    providers=[
        (
            "CPUExecutionProvider",
            {
                "device_id": 1,
                "npu_mem_limit": 1 << 30,
                "arena_extend_strategy": "kSameAsRequested",
            },
        ),
    ],
)
if "CANN" in ort.get_device():
    print("a card")
if "CANN" not in ort.get_device():
    print("none")
