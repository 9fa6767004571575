/*
 * In ERROR, arg1 to arg5 are the EPID, the action, the DIF offset, the fault and the fault's value.
 * @flags: -q
 */
ERROR
{
	printf("%d %d %d %d %x\n", arg1, arg2, arg3 >= 0, arg4, arg5);
	exit(0);
}

BEGIN { printf("a"); trace(*(char *)0x10); }
