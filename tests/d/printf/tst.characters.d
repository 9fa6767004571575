/*
 * %c prints one character, and %C escapes a character that cannot be printed.
 * @flags: -q
 */
BEGIN
{
	printf("[%c%c%c] [%C%C%C]\n", 'a', 66, (char)'c', 'a', '\n', '\t');
	printf("[%3c] [%-3c]\n", 'x', 'y');
	exit(0);
}
