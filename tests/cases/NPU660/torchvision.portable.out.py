import torchvision
from torchvision import transforms
from torch.hub import load_state_dict_from_url
from torchvision.transforms import ToTensor
from torchvision.transforms import Resize as Scale

flow = transforms.Compose([transforms.Resize(256), transforms.RandomResizedCrop(224), ToTensor()])
other = torchvision.transforms.RandomResizedCrop(8)
try:
    from torchvision.models.resnet import model_urls
except ImportError:
    model_urls = {}
