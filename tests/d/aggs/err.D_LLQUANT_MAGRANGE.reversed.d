/* The high magnitude of llquantize must be greater than the low one. */
BEGIN { @a = llquantize(1, 10, 6, 0, 10); }
