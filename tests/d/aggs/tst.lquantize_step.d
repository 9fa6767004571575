/*
 * If no step is given, the step of lquantize is 1.
 * @flags: -q
 */
BEGIN { @ = lquantize(3, 0, 10); exit(0); }
