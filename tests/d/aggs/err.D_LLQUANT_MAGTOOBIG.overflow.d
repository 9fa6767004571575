/* The powers of llquantize's factor must fit into 64 bits. */
BEGIN { @a = llquantize(1, 10, 0, 30, 10); }
