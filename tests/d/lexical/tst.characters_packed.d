/*
 * Up to eight characters of one constant are packed, the first one most significant.
 * @flags: -q
 */
BEGIN
{
	printf("%x %x %x\n", 'ab', 'abc', 'abcd');
	printf("%x\n", 'abcdefgh');
	exit(0);
}
