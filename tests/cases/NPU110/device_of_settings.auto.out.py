import configparser
import json

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

ini = configparser.ConfigParser()
ini.read("run.ini")
settings = json.load(open("settings.json"))
x = torch.ones(3)
x.cuda(settings["device"])
x.cuda(ini.get("run", "device"))
x.cuda(ini["run"]["device"])
x.cuda(settings["gpu"])
x.cuda(settings.get("rank", 0))
