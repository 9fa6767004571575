/*
 * inet_ntop returns an IPv4 or an IPv6 address as a string.
 * @flags: -q
 */
BEGIN
{
	this->a = (uint32_t *)alloca(16);
	this->a[0] = htonl(0x7f000001);
	printf("%s\n", inet_ntop(AF_INET, this->a));
	this->a[0] = 0;
	printf("%s\n", inet_ntop(AF_INET6, this->a));
	this->a[3] = htonl(1);
	printf("%s\n", inet_ntop(AF_INET6, this->a));
	this->a[2] = htonl(0xffff);
	this->a[3] = htonl(0x01020304);
	printf("%s\n", inet_ntop(AF_INET6, this->a));
	this->a[2] = 0;
	printf("%s\n", inet_ntop(AF_INET6, this->a));
	this->a[0] = htonl(0xfe800000);
	this->a[3] = htonl(0xabcd);
	printf("%s\n", inet_ntop(AF_INET6, this->a));
	exit(0);
}
