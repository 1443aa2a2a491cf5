try:
    import apex
    HAS_APEX = True
except ImportError:
    HAS_APEX = False
