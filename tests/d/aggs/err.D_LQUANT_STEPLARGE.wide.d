/* The step of lquantize must not be larger than its limit minus its base. */
BEGIN { @a = lquantize(1, 0, 10, 11); }
