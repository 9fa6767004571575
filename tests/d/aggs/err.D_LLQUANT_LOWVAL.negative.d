/* The low magnitude of llquantize is not negative. */
BEGIN { @a = llquantize(1, 10, -1, 6, 10); }
