HINTS = {"CUDA out of memory": "use a smaller batch"}
print(HINTS["CUDA out of memory"])
