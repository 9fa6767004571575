/*
 * An aggregating function of a later version does not exist.
 * @flags: -x version=1.6
 */
BEGIN { @ = llquantize(1, 10, 0, 3, 10); exit(0); }
