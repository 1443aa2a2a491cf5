providers = ["CANNExecutionProvider", "CPUExecutionProvider"]
