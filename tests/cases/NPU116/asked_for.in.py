import onnxruntime

if 'CUDAExecutionProvider' in onnxruntime.get_available_providers():
    print("on a card")
