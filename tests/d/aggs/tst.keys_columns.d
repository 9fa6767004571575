/*
 * Integer keys of 1, 2, 4 and 8 bytes are printed in 4, 6, 9 and 17 columns.
 * @flags: -q
 */
BEGIN
{
	@[(char)1, (short)2, (int)3, (long)4] = count();
	exit(0);
}
