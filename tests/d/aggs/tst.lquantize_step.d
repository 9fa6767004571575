/*
 * The step of lquantize is 1 when it is not given.
 * @flags: -q
 */
BEGIN { @ = lquantize(3, 0, 10); exit(0); }
