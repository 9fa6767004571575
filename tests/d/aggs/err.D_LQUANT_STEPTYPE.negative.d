/* The step of lquantize must not be negative. */
BEGIN { @a = lquantize(1, 0, 10, -1); }
