/* The bounds of lquantize must be numbers; they are checked before the first argument. */
BEGIN { @a = lquantize(probefunc, probefunc, probefunc); }
