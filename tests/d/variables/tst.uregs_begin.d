/*
 * uregs[] in BEGIN are registers of dtrace itself. The 32-bit names mean the same
 * registers as the 64-bit ones.
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
