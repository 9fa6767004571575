/* The factor of llquantize must be at least two. */
BEGIN { @a = llquantize(1, 1, 0, 6, 10); }
