try:
    import amp_C
except ImportError:
    amp_C = None
