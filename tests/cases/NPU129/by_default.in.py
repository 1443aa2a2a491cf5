import os

import torch


def show_cuda():
    return "fast"


def show_cpu():
    return "slow"


x = torch.ones(1, device=os.getenv("MY_DEVICE", "cuda:0"))
print(globals()["show_" + str(os.getenv("MY_DEVICE", "cuda:0")).split(":")[0]]())
print(globals()["show_" + os.environ.get("MY_MODE", "cpu")]())
print(globals()["show_" + os.getenv("MODE", "plain")]())


class Place:
    def __getitem__(self, key):
        return getattr(self, key)


place = Place()
print((globals)()["show_" + str(place["device"]).split(":")[0]]())
print((globals())[f"show_{str(place['device']).split(':')[0]}"]())
print(globals()["draw_" + str(place["device"]).split(":")[0]]())


def chosen(args):
    shown = {name: value for name, value in vars(args).items()}
    return torch.device(next(name for name, value in vars(args).items() if value)), shown


class Settings(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


settings = Settings()
settings.DEVICE = "cpu"
settings.update([("DEVICE", os.environ["PLACE"])])
print(globals()["show_" + str(settings.DEVICE).split(":")[0]]())
