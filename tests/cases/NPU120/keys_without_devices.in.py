WHEELS = {"cuda": "cu121", "rocm": "rocm6"}
os_name = {"cuda": 1}["cuda"]
record = {"cuda": "12.1", "python": "3.10"}
print(WHEELS["cuda"], os_name, record["cuda"])
