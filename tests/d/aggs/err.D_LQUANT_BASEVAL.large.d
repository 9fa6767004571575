/* The base of lquantize must fit into 32 bits. */
BEGIN { @a = lquantize(1, 0x100000000, 0x100000010, 1); }
