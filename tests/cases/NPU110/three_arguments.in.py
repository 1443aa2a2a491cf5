def build(toolkit, a, b, c):
    return toolkit.cuda(a, b, c)
