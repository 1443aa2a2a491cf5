"""Codes 1xx: devices, names of ``torch.cuda``, and what asks for a device."""
