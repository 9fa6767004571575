/*
 * If counts have both signs, negative bars use the left half and positive bars the right half.
 * @flags: -q
 */
BEGIN { @ = quantize(1, -2); @ = quantize(4, 2); exit(0); }
