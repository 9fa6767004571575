/* The step of lquantize must not be so small that there are more than 65535 levels. */
BEGIN { @a = lquantize(1, 0, 1000000, 1); }
