/* The number of steps of llquantize must not be less than its factor. */
BEGIN { @a = llquantize(1, 10, 0, 6, 5); }
