/* The bounds of lquantize are numbers, which is looked at before its value. */
BEGIN { @a = lquantize(probefunc, probefunc, probefunc); }
