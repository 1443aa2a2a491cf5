import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--platform", choices=["npu", "cpu"], default="npu")
