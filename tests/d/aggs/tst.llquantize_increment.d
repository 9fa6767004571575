/*
 * The sixth argument of llquantize is the number of times that the value is counted.
 * @flags: -q
 */
BEGIN { @ = llquantize(150, 10, 0, 3, 20, 7); exit(0); }
