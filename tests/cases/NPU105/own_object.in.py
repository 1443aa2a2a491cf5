class Config:
    cuda = None


config = Config()
if hasattr(config, "cuda"):
    print(getattr(config, "cuda"))
