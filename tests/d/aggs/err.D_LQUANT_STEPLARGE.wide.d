/* The step of lquantize must not be so large that there is no level. */
BEGIN { @a = lquantize(1, 0, 10, 11); }
