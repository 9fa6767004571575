/* All uses of lquantize on one aggregation must have the same base. */
BEGIN { @a = lquantize(1, 0, 10, 1); @a = lquantize(1, 1, 10, 1); }
