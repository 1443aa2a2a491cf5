import pynvml
from other import nvmlInit

try:
    pynvml.nvmlInit()
except pynvml.NVMLError:
    pass
nvmlInit()
if pynvml.__version__ > "11":
    pynvml.nvmlInit()
