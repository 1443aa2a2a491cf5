def launch(kernel, cuda_stream=0, cuda_event=None):
    return kernel(stream=cuda_stream), cuda_event
