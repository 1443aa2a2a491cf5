import lightgbm as lgb
import torch
import torch_npu  # noqa: F401
import xgboost as xgb

params = {"tree_method": "hist", "objective": "reg:squarederror"}
booster = xgb.train(params, xgb.DMatrix("train.svm"))
spread = xgb.XGBRegressor(**{"tree_method": "hist"})
made = dict(tree_method="hist", max_depth=3)
trees = xgb.XGBClassifier(**made)
forest = xgb.XGBClassifier(
    tree_method="hist",
    max_depth=6,
)
kept = xgb.XGBClassifier(tree_method="hist", max_depth=6)
leaves = lgb.LGBMClassifier(num_leaves=31)
trained = lgb.train({"device_type": "cuda", "num_leaves": 31}, lgb.Dataset("train.bin"))
options = {"device": "cuda", "tree_method": "hist"}
other = xgb.train(options, xgb.DMatrix("train.svm"))
own = {"gpu_id": 0, "device": "npu"}
net = torch.zeros(2, device=own["device"])
