from setuptools import setup

needs = [
    "torch==2.14.0",  # é
    "torch-npu==2.14.0",
    "numpy"
]
needs += []
extras = {}
extras["fast"] = ["torch==2.14.0"]
keywords = ["torch", "xformers"]
setup(name="x", install_requires=needs, extras_require=extras, keywords=keywords)
