import os

import paddle

paddle.set_flags({"FLAGS_selected_gpus": os.getenv("FLAGS_selected_gpus", "0")})
paddle.set_flags({"FLAGS_selected_gpus": "1", "FLAGS_check_nan_inf": 1})
os.environ["FLAGS_selected_gpus"] = "0"
