import os
import subprocess
from subprocess import Popen, check_call


def search(command, gpu_id, settings):
    check_call(command, shell=True, env={**os.environ, "ASCEND_RT_VISIBLE_DEVICES": str(gpu_id), "OMP_NUM_THREADS": "4"})
    Popen(command, env=dict(os.environ, ASCEND_RT_VISIBLE_DEVICES="1"))
    subprocess.run(command, env={**os.environ, "ASCEND_RT_VISIBLE_DEVICES": "0"})
    subprocess.run(command, env=dict(os.environ, ASCEND_RT_VISIBLE_DEVICES="0"))
    subprocess.run(command, env={"PATH": "/usr/bin"})
    return settings.run(env={"ASCEND_RT_VISIBLE_DEVICES": "0"})
