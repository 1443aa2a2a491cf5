class Wrapper:
    def __init__(self, handle):
        self.cuda_stream = handle
        self.cuda_event = None
