/*
 * The second argument of quantize is the number of times that the value is counted.
 * @flags: -q
 */
BEGIN { @ = quantize(1, 3); @ = quantize(2); exit(0); }
