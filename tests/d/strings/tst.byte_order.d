/*
 * The subroutines htons, htonl, htonll, ntohs, ntohl and ntohll reverse 2, 4 or 8 bytes.
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
