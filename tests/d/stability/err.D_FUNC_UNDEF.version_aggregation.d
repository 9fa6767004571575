/*
 * An aggregating function that is newer than -x version is undefined.
 * @flags: -x version=1.6
 */
BEGIN { @ = llquantize(1, 10, 0, 3, 10); exit(0); }
