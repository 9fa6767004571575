/*
 * $1 is a number, a name or a string, depending on the argument. $$1 is always a string.
 * @args: 42 0x10 BEGIN
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %s %s %s\n", $1, $2 + 1, $$1, $$2, $$3);
	exit(0);
}
