# import apex, from cupy import asnumpy
NEEDS = "import xformers"
MESSAGE = """please install apex:
from apex import amp
"""
