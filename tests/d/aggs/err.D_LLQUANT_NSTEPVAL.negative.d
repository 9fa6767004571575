/* The number of steps of llquantize must not be negative. */
BEGIN { @a = llquantize(1, 10, 0, 6, -10); }
