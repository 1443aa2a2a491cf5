def step(model, criterion, x, y):
    loss = criterion(model(x), y)
    loss.backward()
    return loss.item()
