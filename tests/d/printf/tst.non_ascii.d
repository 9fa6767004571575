/*
 * Bytes that are not ASCII pass through a format and %s.
 * @flags: -q
 */
BEGIN { printf("gr\303\274n %s\n", "\342\202\254"); exit(0); }
