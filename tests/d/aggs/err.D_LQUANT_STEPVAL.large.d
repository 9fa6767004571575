/* The step of lquantize must fit into 16 bits. */
BEGIN { @a = lquantize(1, 0, 1000000, 65536); }
