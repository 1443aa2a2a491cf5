import importlib
import logging

logging.getLogger("cuda").setLevel(logging.ERROR)
module = importlib.import_module("cuda")
found = importlib.util.find_spec("cuda")
