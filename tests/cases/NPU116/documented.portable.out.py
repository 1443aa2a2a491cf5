providers = ["CANNExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]
