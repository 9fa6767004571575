/* All uses of lquantize on one aggregation must have the same step. */
BEGIN { @a = lquantize(1, 0, 10, 1); @a = lquantize(1, 0, 10, 2); }
