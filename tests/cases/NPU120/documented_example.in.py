def place(x):
    """Put ``x`` on a card.

    >>> place(x).device
    device(type='cuda', index=0)
    """
    return x
