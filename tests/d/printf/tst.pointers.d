/*
 * %p prints hexadecimal without 0x, and ? is the width of a pointer.
 * @flags: -q
 */
BEGIN
{
	printf("[%p] [%p] [%?p]\n", (void *)0, (int *)0xabcdef, (char *)0x10);
	printf("[%?x]\n", 255);
	printf("[%#p]\n", (void *)255);
	exit(0);
}
