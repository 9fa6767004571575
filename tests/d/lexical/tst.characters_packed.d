/*
 * A character constant holds up to eight characters. The first one is the most significant byte.
 * @flags: -q
 */
BEGIN
{
	printf("%x %x %x\n", 'ab', 'abc', 'abcd');
	printf("%x\n", 'abcdefgh');
	exit(0);
}
