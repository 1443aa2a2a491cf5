import os
import subprocess


def launch(ids, options):
    os.system("CUDA_VISIBLE_DEVICES=" + ids + " python worker.py")
    subprocess.run("CUDA_VISIBLE_DEVICES={} python worker.py".format(ids), shell=True)
    subprocess.run(f"CUDA_VISIBLE_DEVICES={ids} python worker.py", shell=True)
    subprocess.run(["env", "CUDA_VISIBLE_DEVICES=%s" % ids, "python", "worker.py"])
    os.system("CUDA_VISIBLE_DEVICES=1,0 python worker.py")
    subprocess.run(["python", "worker.py"], env=dict(os.environ, CUDA_VISIBLE_DEVICES=ids))
    copied = os.environ.copy()
    copied["CUDA_VISIBLE_DEVICES"] = ids
    copied.update(CUDA_VISIBLE_DEVICES=ids)
    options.update(CUDA_VISIBLE_DEVICES=ids)
    subprocess.run(["python", "worker.py"], env=copied)


def worker():
    return os.environ["CUDA_VISIBLE_DEVICES"]
