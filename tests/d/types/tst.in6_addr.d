/*
 * struct in6_addr has its bytes and words under the names of several systems.
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
