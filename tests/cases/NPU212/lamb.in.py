from apex.optimizers import FusedLAMB

table = {"lamb": FusedLAMB}
