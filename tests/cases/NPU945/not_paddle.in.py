import mine.paddle_like as paddle


def is_compiled_with_cuda():
    return False


print(is_compiled_with_cuda(), paddle.is_compiled_with_cuda(), paddle.CUDAPlace(0))
