/*
 * inet_ntoa returns an IPv4 address as a string.
 * @flags: -q
 */
ipaddr_t *p;

BEGIN
{
	this->p = (ipaddr_t *)alloca(4);
	*this->p = htonl(0xc0a80a01);
	printf("%s\n", inet_ntoa(this->p));
	*this->p = 0;
	printf("%s\n", inet_ntoa(this->p));
	*this->p = -1;
	printf("%s\n", inet_ntoa(this->p));
	exit(0);
}
