import torch

lib = torch.library.Library("mine", "FRAGMENT")
lib.impl("scale", lambda x: x, "CPU")
lib.impl("scale", lambda x: x, "CompositeImplicitAutograd")
