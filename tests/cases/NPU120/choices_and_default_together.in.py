import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--platform", choices=["cuda", "cpu"], default="cuda")
