import cupy

handle = cupy.cuda.get_current_stream().ptr
pool = cupy.cuda.Stream(non_blocking=True)
