/*
 * %Y uses the time zone in TZ.
 * @env: TZ=EST5
 * @flags: -q
 */
BEGIN { printf("%Y\n", 0); exit(0); }
