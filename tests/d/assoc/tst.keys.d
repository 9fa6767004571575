/*
 * The keys of an associative array may combine numbers and strings.
 * @flags: -q
 */
BEGIN
{
	a["x", 1] = 10;
	a["x", 2] = 20;
	a["y", 1] = 30;
	printf("%d %d %d %d\n", a["x", 1], a["x", 2], a["y", 1], a["y", 2]);
	exit(0);
}
