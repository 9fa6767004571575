/* The limit of lquantize is a constant. */
BEGIN { x = 1; @a = lquantize(1, 0, x, 1); }
