class Timer:
    pass


timer = Timer()
setattr(timer, "cuda", True)
if hasattr(timer, "cuda"):
    delattr(timer, "cuda")
