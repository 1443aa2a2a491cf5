import subprocess
from pathlib import Path

subprocess.run(["cuda", "--version"])
root = Path("cuda") / "include"
files = list(root.glob("cuda"))
with open("cuda") as stream:
    text = stream.read()
