/*
 * If some counts are negative, their bars are in the left half, and the other bars are in the right half.
 * @flags: -q
 */
BEGIN { @ = quantize(1, -2); @ = quantize(4, 2); exit(0); }
