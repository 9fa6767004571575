/*
 * The keys and the value of an associative array may be declared.
 * @flags: -q
 */
int64_t a[char, string];

BEGIN
{
	a[1, "x"] = (int64_t)1 << 40;
	a[1, "y"] = 5;
	printf("%d %d %d\n", a[1, "x"], a[1, "y"], a[2, "x"]);
	exit(0);
}
