from npuify_scatter import scatter_add

def pool(x, index):
    return scatter_add(x, index, dim=0)
