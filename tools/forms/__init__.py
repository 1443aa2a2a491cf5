"""Prove the forms that rules write: run them against the real torch_npu and against the simulated one.

``extract`` lists the programs that rules make of their examples; ``inside`` runs them where torch_npu can be imported;
``table`` holds what became of each statement that a rule wrote.
"""
