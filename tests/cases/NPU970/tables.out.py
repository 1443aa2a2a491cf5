import lightgbm
import torch
import torch_npu  # noqa: F401
import xgboost

options = {"device": "cuda", "max_depth": 3}
trees = xgboost.train(options, xgboost.DMatrix("train.svm"))
leaves = lightgbm.train({"device_type": "cuda", "num_leaves": 31}, lightgbm.Dataset("train.bin"))
made = dict(device="cuda", max_depth=3)
other = xgboost.XGBClassifier(**made)
own = {"device": "npu", "lr": 0.1}
net = torch.nn.Linear(4, 4, device=own["device"])
