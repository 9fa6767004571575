/*
 * The hton and ntoh subroutines reverse as many bytes as their type has.
 * @flags: -q
 */
BEGIN
{
	printf("%x %x %x\n", htons(0x1234), htonl(0x12345678),
	    htonll(0x123456789abcdef0));
	printf("%x %x %x\n", ntohs(0x1234), ntohl(0x12345678),
	    ntohll(0x123456789abcdef0));
	printf("%x %x\n", htons(0x91234), htonl(0x912345678));
	exit(0);
}
