import xgboost

trees = xgboost.train({"tree_method": "hist", "eta": 0.1}, data)
