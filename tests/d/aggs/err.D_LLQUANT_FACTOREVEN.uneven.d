/* The number of steps of llquantize must divide a power of its factor. */
BEGIN { @a = llquantize(1, 10, 0, 6, 30); }
