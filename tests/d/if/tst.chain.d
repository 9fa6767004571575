/*
 * else if chains several conditions.
 * @flags: -q
 */
BEGIN { n = 2; }
BEGIN
{
	if (n == 1) { printf("one\n"); }
	else if (n == 2) { printf("two\n"); }
	else { printf("many\n"); }
	exit(0);
}
