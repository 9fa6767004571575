/*
 * The fifth argument of lquantize is the number of times that the value is counted.
 * @flags: -q
 */
BEGIN { @ = lquantize(3, 0, 10, 1, 4); printa(@); exit(0); }
