/* The step of lquantize must be a constant. */
BEGIN { x = 1; @a = lquantize(1, 0, 10, x); }
