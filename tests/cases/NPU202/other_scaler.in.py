from apex.amp import GradScaler
from lightning.fabric import Fabric

scaler = GradScaler()
fabric = Fabric(precision="16-mixed")
