/*
 * Counts of both signs share the width.
 * @flags: -q
 */
BEGIN { @ = quantize(1, -2); @ = quantize(4, 2); exit(0); }
