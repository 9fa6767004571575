/*
 * getmajor and getminor return the two parts of a device number.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d\n", getmajor(0x801), getminor(0x801));
	exit(0);
}
