/* The high magnitude of llquantize must be a constant. */
BEGIN { x = 1; @a = llquantize(1, 10, 0, x, 10); }
