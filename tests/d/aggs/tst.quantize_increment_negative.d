/*
 * Negative counts are drawn as bars to the left of the axis.
 * @flags: -q
 */
BEGIN { @ = quantize(1, -2); @ = quantize(4, -2); exit(0); }
