/*
 * %P prints a port by the name of its service, or as a number.
 * @replace: ^ssh$ -> 22
 * @flags: -q
 */
BEGIN
{
	printf("%P\n", (uint16_t)22);
	printf("%P\n", (uint16_t)64999);
	exit(0);
}
