from music import get_key


def describe(props):
    return props.major, props.minor


print(describe(get_key("C")))
