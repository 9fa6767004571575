/* The limit of lquantize is above its base. */
BEGIN { @a = lquantize(1, 10, 0, 1); }
