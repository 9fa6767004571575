/* The number of steps of llquantize must be a constant. */
BEGIN { x = 1; @a = llquantize(1, 10, 0, 6, x); }
