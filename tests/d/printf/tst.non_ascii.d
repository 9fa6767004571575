/*
 * A format and %s print bytes that are not ASCII unchanged.
 * @flags: -q
 */
BEGIN { printf("gr\303\274n %s\n", "\342\202\254"); exit(0); }
