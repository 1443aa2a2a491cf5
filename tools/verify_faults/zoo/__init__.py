"""Models of many kinds, each trained for some steps by one program, and faults that can be planted in any of them."""
