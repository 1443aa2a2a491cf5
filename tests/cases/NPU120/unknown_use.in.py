def register(registry, name="cuda"):
    registry.add("cuda", name)


class Trainer:
    accelerator = "cuda"


FLAGS = ("auto", "cuda", "gpu")
