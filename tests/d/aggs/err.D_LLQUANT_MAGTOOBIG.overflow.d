/* The powers of llquantize fit into 64 bits. */
BEGIN { @a = llquantize(1, 10, 0, 30, 10); }
