import re


def numbers(devices: list, text: str, name: str, words: list):
    print(devices[:4], devices[5:], words[5], text[5:])
    print(re.search(r"libcuda\.so", text), re.sub(r"/cuda-\d+", "", name))
    print(re.findall(r"cuda", text), re.match(r"(?:cuda|npu):\d+", name))
    return int(text[5:])
