from setuptools import setup

needs = [
    "torch>=1.8",  # é
    "numpy"
]
needs += ["flash-attn"]
extras = {}
extras["fast"] = ["nvidia-nccl-cu12", "torch"]
keywords = ["torch", "xformers"]
setup(name="x", install_requires=needs, extras_require=extras, keywords=keywords)
