/*
 * printf() prints non-ASCII bytes unchanged if they are in the format or in an argument of %s.
 * @flags: -q
 */
BEGIN { printf("gr\303\274n %s\n", "\342\202\254"); exit(0); }
