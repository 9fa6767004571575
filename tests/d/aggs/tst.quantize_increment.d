/*
 * The second argument of quantize is how often the value counts.
 * @flags: -q
 */
BEGIN { @ = quantize(1, 3); @ = quantize(2); exit(0); }
