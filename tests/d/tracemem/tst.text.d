/*
 * tracemem() always prints a dump, even of bytes that are text.
 * @flags: -q
 */
BEGIN
{
	tracemem("text", 5);
	exit(0);
}
