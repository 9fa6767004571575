/* The low magnitude of llquantize must not be negative. */
BEGIN { @a = llquantize(1, 10, -1, 6, 10); }
