import flags
import tritonclient.http as httpclient
from apexlib import amp
from .apex import initialize
from .deepspeed import engine
