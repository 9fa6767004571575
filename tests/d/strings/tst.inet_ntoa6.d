/*
 * inet_ntoa6 returns an IPv6 address as a string, and omits the longest run of zeros.
 * @flags: -q
 */
BEGIN
{
	this->a = (struct in6_addr *)alloca(16);
	this->b = (uint16_t *)this->a;
	this->b[0] = htons(0x2001);
	this->b[1] = htons(0xdb8);
	this->b[7] = htons(1);
	printf("%s\n", inet_ntoa6(this->a));
	this->b[3] = htons(0xff);
	this->b[5] = htons(5);
	printf("%s\n", inet_ntoa6(this->a));
	exit(0);
}
