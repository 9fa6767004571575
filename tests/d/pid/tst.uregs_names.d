/*
 * The constants R_* are the indexes of the registers in uregs[ ].
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d %d %d %d %d ", R_R15, R_R14, R_R13, R_R12, R_R11, R_R10,
	    R_R9, R_R8);
	printf("%d %d %d %d %d %d %d ", R_RDI, R_RSI, R_RBP, R_RBX, R_RDX, R_RCX, R_RAX);
	printf("%d %d %d %d %d %d %d\n", R_TRAPNO, R_ERR, R_RIP, R_CS, R_RFL, R_RSP, R_SS);
	printf("%d %d %d %d\n", R_PC == R_RIP, R_SP == R_RSP, R_FP == R_RBP, R_PS == R_RFL);
	exit(0);
}
