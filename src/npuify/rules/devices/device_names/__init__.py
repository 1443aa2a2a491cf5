"""Names of devices: the strings, what programs take apart, look up or make of them, options that offer them."""
