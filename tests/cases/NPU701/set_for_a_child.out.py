import os
import subprocess


def launch(ids, options):
    os.system("ASCEND_RT_VISIBLE_DEVICES=" + ids + " python worker.py")
    subprocess.run("ASCEND_RT_VISIBLE_DEVICES={} python worker.py".format(ids), shell=True)
    subprocess.run(f"ASCEND_RT_VISIBLE_DEVICES={ids} python worker.py", shell=True)
    subprocess.run(["env", "ASCEND_RT_VISIBLE_DEVICES=%s" % ids, "python", "worker.py"])
    os.system("CUDA_VISIBLE_DEVICES=1,0 python worker.py")
    subprocess.run(["python", "worker.py"], env=dict(os.environ, ASCEND_RT_VISIBLE_DEVICES=ids))
    copied = os.environ.copy()
    copied["ASCEND_RT_VISIBLE_DEVICES"] = ids
    copied.update(ASCEND_RT_VISIBLE_DEVICES=ids)
    options.update(CUDA_VISIBLE_DEVICES=ids)
    subprocess.run(["python", "worker.py"], env=copied)


def worker():
    return os.environ["ASCEND_RT_VISIBLE_DEVICES"]
