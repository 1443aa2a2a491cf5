import torchvision
from torchvision import transforms
from torchvision.models.utils import load_state_dict_from_url
from torchvision.transforms import Scale, ToTensor

flow = transforms.Compose([transforms.Scale(256), transforms.RandomSizedCrop(224), ToTensor()])
other = torchvision.transforms.RandomSizedCrop(8)
try:
    from torchvision.models.resnet import model_urls
except ImportError:
    model_urls = {}
