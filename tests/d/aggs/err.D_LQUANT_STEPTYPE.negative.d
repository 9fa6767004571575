/* The step of lquantize is not negative. */
BEGIN { @a = lquantize(1, 0, 10, -1); }
