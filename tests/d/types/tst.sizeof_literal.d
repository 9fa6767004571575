/*
 * The size of a string constant is that of its text and its NUL.
 * @flags: -q
 */
BEGIN
{
	text = "hi";
	printf("%d %d %d\n", sizeof ("hi"), sizeof "", sizeof (text));
	exit(0);
}
