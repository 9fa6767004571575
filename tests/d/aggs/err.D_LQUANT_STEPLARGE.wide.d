/* The step of lquantize must be small enough for at least one level. */
BEGIN { @a = lquantize(1, 0, 10, 11); }
