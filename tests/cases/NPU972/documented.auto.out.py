import sglang

engine = sglang.Engine(model_path="facebook/opt-125m", attention_backend="ascend")
