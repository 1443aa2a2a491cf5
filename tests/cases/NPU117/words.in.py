print("CUDA")
VENDORS = {"CUDA": "NVIDIA", "ROCm": "AMD"}
message = "uses {}".format("CUDA")
