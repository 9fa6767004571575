/*
 * trace prints unsigned values as signed.
 * @flags: -q
 */
BEGIN
{
	trace((uint64_t)-1); trace(" ");
	trace((uint32_t)-1); trace(" ");
	trace((unsigned char)255);
	exit(0);
}
