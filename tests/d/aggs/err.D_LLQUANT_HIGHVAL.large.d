/* The high magnitude of llquantize has 16 bits. */
BEGIN { @a = llquantize(1, 10, 0, 65536, 10); }
