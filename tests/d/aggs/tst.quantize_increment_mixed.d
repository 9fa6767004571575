/*
 * Bars of positive and negative counts share the width.
 * @flags: -q
 */
BEGIN { @ = quantize(1, -2); @ = quantize(4, 2); exit(0); }
