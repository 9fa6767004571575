/* The step of lquantize leaves at least one level. */
BEGIN { @a = lquantize(1, 0, 10, 11); }
