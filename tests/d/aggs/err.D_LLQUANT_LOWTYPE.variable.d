/* The low magnitude of llquantize must be a constant. */
BEGIN { x = 1; @a = llquantize(1, 10, x, 6, 10); }
