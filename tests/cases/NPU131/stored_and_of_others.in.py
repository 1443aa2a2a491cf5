class Song:
    major = True


song = Song()
song.major = False
props = {"major": 1}
print(song.major, props["major"])
