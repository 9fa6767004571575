/* The bounds of lquantize must be numbers; they are checked before its value. */
BEGIN { @a = lquantize(probefunc, probefunc, probefunc); }
