/*
 * The fifth argument of lquantize is how often the value counts.
 * @flags: -q
 */
BEGIN { @ = lquantize(3, 0, 10, 1, 4); printa(@); exit(0); }
