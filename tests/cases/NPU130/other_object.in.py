class Card:
    def get_device_capability(self):
        return 8, 0


major, minor = Card().get_device_capability()
print(major, minor)
