/* All uses of llquantize on one aggregation must have the same factor. */
BEGIN { @a = llquantize(1, 10, 0, 6, 100); @a = llquantize(1, 100, 0, 6, 100); }
