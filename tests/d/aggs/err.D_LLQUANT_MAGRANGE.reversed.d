/* The high magnitude of llquantize must be greater than its low magnitude. */
BEGIN { @a = llquantize(1, 10, 6, 0, 10); }
