/*
 * In BEGIN, uregs[] contains the registers of dtrace itself. A 32-bit name such as R_EAX
 * refers to the same register as the 64-bit name.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d\n", uregs[R_RIP] != 0, uregs[R_RSP] != 0);
	printf("%d %d %d %d\n", R_EAX == R_RAX, R_EBX == R_RBX, R_ECX == R_RCX, R_EDX == R_RDX);
	printf("%d %d %d %d\n", R_ESI == R_RSI, R_EDI == R_RDI, R_EBP == R_RBP, R_ESP == R_RSP);
	printf("%d %d %d\n", R_EIP == R_RIP, R_EFL == R_RFL, R_UESP == R_RSP);
	exit(0);
}
