/* quantize takes one or two arguments. */
BEGIN { @a = quantize(1, 2, 3); }
