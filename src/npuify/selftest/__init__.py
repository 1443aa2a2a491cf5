"""npuify's own claims, held against the machine that it runs on: ``npuify selftest``.

Claims come from the tables and rules themselves (:mod:`npuify.selftest.areas`), each with a question that a Python
beside the NPU answers (:mod:`npuify.selftest.inside`, standard library, torch and torch_npu only).
:mod:`npuify.selftest.runner` asks them, in processes that may crash or hang, and :mod:`npuify.knowledge.hardware`
says what the results look like.
"""
