import configparser
import json

import torch

import compute_device

ini = configparser.ConfigParser()
ini.read("run.ini")
settings = json.load(open("settings.json"))
x = torch.ones(3)
x.to(compute_device.get(settings["device"]))
x.to(compute_device.get(ini.get("run", "device")))
x.to(compute_device.get(ini["run"]["device"]))
x.to(compute_device.get(settings["gpu"]))
x.to(compute_device.get(settings.get("rank", 0)))
