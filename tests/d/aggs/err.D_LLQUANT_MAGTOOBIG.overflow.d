/* The factor of llquantize to the power of the high magnitude + 1 must fit into 64 bits. */
BEGIN { @a = llquantize(1, 10, 0, 30, 10); }
