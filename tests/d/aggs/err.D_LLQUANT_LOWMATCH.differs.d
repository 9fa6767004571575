/* All uses of llquantize on one aggregation must have the same low magnitude. */
BEGIN { @a = llquantize(1, 10, 0, 6, 10); @a = llquantize(1, 10, 1, 6, 10); }
