from .apex import contrib
from mine import amp_C
