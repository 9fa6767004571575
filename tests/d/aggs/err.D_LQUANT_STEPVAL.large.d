/* The step of lquantize has sixteen bits. */
BEGIN { @a = lquantize(1, 0, 1000000, 65536); }
