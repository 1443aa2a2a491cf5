import amp_C
from apex.multi_tensor_apply import multi_tensor_applier

multi_tensor_applier(amp_C.multi_tensor_scale, None, [[], []], 1.0)
