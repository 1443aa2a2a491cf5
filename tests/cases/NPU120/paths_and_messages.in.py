import logging
import os

log = logging.getLogger(__name__)
log.info("cuda")
print("cuda", "cuda:0")
path = os.path.join("csrc", "cuda", "ops.cu")
other = "csrc/cuda" + "/ops.cu"
raise RuntimeError("cuda")
