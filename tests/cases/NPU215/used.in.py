import apex

print(apex.__file__)
