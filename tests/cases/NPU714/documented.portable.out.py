import os
import subprocess
subprocess.check_call(["true"], env={**os.environ, "ASCEND_RT_VISIBLE_DEVICES": "1"})
