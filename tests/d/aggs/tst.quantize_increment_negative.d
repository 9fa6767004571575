/*
 * Negative counts are drawn as bars to the left.
 * @flags: -q
 */
BEGIN { @ = quantize(1, -2); @ = quantize(4, -2); exit(0); }
