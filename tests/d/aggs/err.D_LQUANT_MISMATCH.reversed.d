/* The limit of lquantize must be greater than its base. */
BEGIN { @a = lquantize(1, 10, 0, 1); }
