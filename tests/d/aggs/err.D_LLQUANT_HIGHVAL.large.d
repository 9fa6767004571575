/* The high magnitude of llquantize must fit into 16 bits. */
BEGIN { @a = llquantize(1, 10, 0, 65536, 10); }
