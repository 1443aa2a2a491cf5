"""The automatic style: ``transfer_to_npu`` in each program, and edits only where it does not reach."""
