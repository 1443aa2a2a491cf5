import torch


def strip(f, g):
    x = torch.load(f, map_location=torch.device("cpu"), weights_only=False)
    if x.get("ema"):
        x["model"] = x["ema"]
    for k in "optimizer", "updates":
        x[k] = None
    x["model"].half()
    for p in x["model"].parameters():
        p.requires_grad = False
    y = torch.load(g)
    if y.get("ema"):
        y["model"] = y["ema"].half()
    torch.save(x, f)


def train(model, weights):
    run_id = torch.load(weights, weights_only=False).get("wandb_id")
    ckpt = torch.load(weights, map_location="cpu", weights_only=False)
    state = ckpt["model"].float().state_dict()
    model.load_state_dict(state)
    return run_id, torch.load(weights + ".old").get("wandb_id")


def fused(w):
    ckpt = torch.load(w, weights_only=False)
    return ckpt["ema" if ckpt.get("ema") else "model"].float().fuse().eval()
