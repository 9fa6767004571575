/* The steps of llquantize are not negative. */
BEGIN { @a = llquantize(1, 10, 0, 6, -10); }
