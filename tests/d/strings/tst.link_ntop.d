/*
 * link_ntop returns an Ethernet or an InfiniBand address as a string.
 * @flags: -q
 */
BEGIN
{
	this->a = (unsigned char *)alloca(20);
	this->a[0] = 0x01;
	this->a[1] = 0x23;
	this->a[4] = 0xab;
	this->a[5] = 0xff;
	this->a[19] = 0x7e;
	printf("%s\n", link_ntop(ARPHRD_ETHER, this->a));
	printf("%s\n", link_ntop(ARPHRD_INFINIBAND, this->a));
	exit(0);
}
