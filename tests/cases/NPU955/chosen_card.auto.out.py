import os

import paddle

paddle.set_flags({})
paddle.set_flags({"FLAGS_check_nan_inf": 1})
os.environ["FLAGS_selected_npus"] = "0"
