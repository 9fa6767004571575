/*
 * A cast to a wider type extends the sign only if the narrower type is signed.
 * @flags: -q
 */
BEGIN
{
	printf("%x\n", (int64_t)(char)0x80);
	printf("%x\n", (int64_t)(unsigned char)0x80);
	printf("%d\n", (int64_t)(int)0xffffffff);
	printf("%d\n", (uint64_t)(uint32_t)-1);
	exit(0);
}
