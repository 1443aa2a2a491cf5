NAMES = ["torch.cuda.amp", "torch.cuda.current_stream", "torch.cuda.FloatTensor.extra"]
print(NAMES)
