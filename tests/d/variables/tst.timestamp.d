/*
 * timestamp does not change during a clause and does not go backwards.
 * @flags: -q
 */
BEGIN
/ timestamp == timestamp /
{
	t = timestamp;
	printf("%d\n", t == timestamp);
}

BEGIN
{
	printf("%d %d\n", timestamp >= t, t > 0);
	exit(0);
}
