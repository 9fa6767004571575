/*
 * An element may be the key of another array.
 * @flags: -q
 */
BEGIN
{
	next["a"] = "b";
	next["b"] = "c";
	printf("%s\n", next[next["a"]]);
	exit(0);
}
