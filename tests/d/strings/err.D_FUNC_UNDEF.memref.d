/* memref belongs to another system. */
BEGIN { x = memref(0, 1); }
