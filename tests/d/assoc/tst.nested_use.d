/*
 * An element may be used as a key, even of its own array.
 * @flags: -q
 */
BEGIN
{
	next["a"] = "b";
	next["b"] = "c";
	printf("%s\n", next[next["a"]]);
	exit(0);
}
