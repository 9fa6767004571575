/*
 * The sixth argument of llquantize is how often the value counts.
 * @flags: -q
 */
BEGIN { @ = llquantize(150, 10, 0, 3, 20, 7); exit(0); }
