/*
 * struct in6_addr has members for its bytes (s6_addr) and its 16-bit words (s6_addr16).
 * @flags: -q
 */
BEGIN
{
	this->a = (struct in6_addr *)alloca(sizeof (struct in6_addr));
	this->a->s6_addr[0] = 0xfe;
	this->a->s6_addr[1] = 0x80;
	printf("%x %s\n", ntohs(this->a->s6_addr16[0]), inet_ntoa6(this->a));
	exit(0);
}
