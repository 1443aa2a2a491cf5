COVERED = {"torch.cuda.is_available": True, "torch.cuda.synchronize": False}
NAMES = ["torch.cuda.Event", "torch.cuda.Stream"]
