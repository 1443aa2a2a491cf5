def patch(model, warn):
    model.cuda = warn(model.cuda, model)
    return model
