import re

pattern = re.match("cuda", "cuda:0")
words = re.findall("cuda:[0-9]", "cuda:0 cuda:1")
other = re.sub("cuda", "gpu", "a cuda b")
