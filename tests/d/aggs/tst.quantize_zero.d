/*
 * Zero has a bucket of its own in quantize.
 * @flags: -q
 */
BEGIN { @ = quantize(0); exit(0); }
