/*
 * A format without conversions is printed as it is.
 * @flags: -q
 */
BEGIN { printf("no arguments\n"); exit(0); }
