"""x"""
def measure(args, table):
    pass
