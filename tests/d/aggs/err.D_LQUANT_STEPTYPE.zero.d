/* The step of lquantize must be positive. */
BEGIN { @a = lquantize(1, 0, 10, 0); }
