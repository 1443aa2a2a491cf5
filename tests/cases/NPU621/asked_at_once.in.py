import pynvml

pynvml.nvmlInit()
CARDS = pynvml.nvmlDeviceGetCount()
