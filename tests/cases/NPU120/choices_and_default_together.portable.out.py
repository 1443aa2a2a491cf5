import argparse

import compute_device

parser = argparse.ArgumentParser()
parser.add_argument("--platform", choices=["cuda", "npu", "cpu"], default=compute_device.type)
