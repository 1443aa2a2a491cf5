import catboost
import torch

trees = catboost.CatBoostClassifier(task_type="GPU" if torch.cuda.is_available() else "CPU")
codec = "h264_nvenc" if torch.cuda.is_available() else "libx264"
