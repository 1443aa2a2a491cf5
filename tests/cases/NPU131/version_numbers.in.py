import sys

from packaging.version import Version

print(sys.version_info.major, Version("2.1").minor)
