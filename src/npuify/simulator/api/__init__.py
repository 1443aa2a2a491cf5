"""What stands behind the names of ``torch_npu``: one module for each area.

Which of these names a release shows, its table says.
"""
