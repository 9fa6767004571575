/* The factor of llquantize must be a constant. */
BEGIN { x = 1; @a = llquantize(1, x, 0, 6, 10); }
