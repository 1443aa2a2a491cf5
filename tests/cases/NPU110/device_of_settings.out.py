import configparser
import json

import torch
import torch_npu  # noqa: F401

ini = configparser.ConfigParser()
ini.read("run.ini")
settings = json.load(open("settings.json"))
x = torch.ones(3)
x.npu(settings["device"])
x.npu(ini.get("run", "device"))
x.npu(ini["run"]["device"])
x.npu(settings["gpu"])
x.npu(settings.get("rank", 0))
