import lightgbm as lgb
import torch
import xgboost as xgb

import compute_device

params = {"tree_method": "gpu_hist", "predictor": "gpu_predictor", "gpu_id": 0, "objective": "reg:squarederror"}
booster = xgb.train(params, xgb.DMatrix("train.svm"))
spread = xgb.XGBRegressor(**{"tree_method": "gpu_hist"})
made = dict(tree_method="gpu_hist", max_depth=3)
trees = xgb.XGBClassifier(**made)
forest = xgb.XGBClassifier(
    tree_method="gpu_hist",
    n_gpus=1,
    max_depth=6,
)
kept = xgb.XGBClassifier(tree_method="hist", max_depth=6)
leaves = lgb.LGBMClassifier(num_leaves=31, gpu_platform_id=0, gpu_device_id=0)
trained = lgb.train({"device_type": "cuda", "num_leaves": 31}, lgb.Dataset("train.bin"))
options = {"device": "cuda", "tree_method": "hist"}
other = xgb.train(options, xgb.DMatrix("train.svm"))
own = {"gpu_id": 0, "device": compute_device.type}
net = torch.zeros(2, device=own["device"])
