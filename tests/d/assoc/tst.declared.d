/*
 * The keys and the value of an associative array may be declared.
 * @flags: -q
 */
int64_t a[char, string];

BEGIN
{
	a[1, "x"] = 1 << 20;
	printf("%d %d\n", a[1, "x"], a[257, "x"]);
	exit(0);
}
