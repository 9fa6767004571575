/* The step of lquantize is positive. */
BEGIN { @a = lquantize(1, 0, 10, 0); }
