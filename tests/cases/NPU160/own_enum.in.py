class ProfilerActivity:
    CUDA = 1


print(ProfilerActivity.CUDA)
