/*
 * getmajor and getminor take a device number apart.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d\n", getmajor(0x801), getminor(0x801));
	exit(0);
}
