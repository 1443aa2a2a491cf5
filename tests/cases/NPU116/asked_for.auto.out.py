import onnxruntime

if 'CANNExecutionProvider' in onnxruntime.get_available_providers():
    print("on a card")
