import torch
from torch_npu import npu_format_cast as cast, npu_fast_gelu
from torch import npu_of_nobody
from torch import nn, npu_confusion_transpose
from numpy import npu_format_cast
