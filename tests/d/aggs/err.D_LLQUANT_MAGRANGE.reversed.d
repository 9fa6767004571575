/* The high magnitude of llquantize is above the low one. */
BEGIN { @a = llquantize(1, 10, 6, 0, 10); }
