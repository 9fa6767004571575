/*
 * aggzoom draws the largest bar over almost the full width.
 * @flags: -q -x aggzoom
 */
BEGIN { @ = quantize(1); @ = quantize(1); @ = quantize(8); exit(0); }
