/* All uses of llquantize on one aggregation must have the same number of steps. */
BEGIN { @a = llquantize(1, 10, 0, 6, 10); @a = llquantize(1, 10, 0, 6, 20); }
