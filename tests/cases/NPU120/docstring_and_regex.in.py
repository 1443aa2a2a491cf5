"""Give "cuda" or "cuda:0" as the device."""

import re

PATTERN = re.compile("lib(cuda|cudnn)")
"cuda"
