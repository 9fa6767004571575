/* The factor of llquantize must fit into 16 bits. */
BEGIN { @a = llquantize(1, 65536, 0, 6, 65536); }
