name = "cuda".upper()
table = {"cuda": 1}
count = [1, 2]
print(table["cuda"], name, count)
