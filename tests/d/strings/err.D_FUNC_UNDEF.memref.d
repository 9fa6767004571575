/* memref exists only on other systems. */
BEGIN { x = memref(0, 1); }
