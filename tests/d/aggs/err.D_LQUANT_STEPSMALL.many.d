/* lquantize can have at most 65535 levels. */
BEGIN { @a = lquantize(1, 0, 1000000, 1); }
