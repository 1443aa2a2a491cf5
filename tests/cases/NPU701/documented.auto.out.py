import os
os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "0,1"
blocking = os.getenv("ASCEND_LAUNCH_BLOCKING", "0")
