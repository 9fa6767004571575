/*
 * The arguments of ERROR are the EPID, the action, the offset, the fault and its value.
 * @flags: -q
 */
ERROR
{
	printf("%d %d %d %d %x\n", arg1, arg2, arg3 >= 0, arg4, arg5);
	exit(0);
}

BEGIN { printf("a"); trace(*(char *)0x10); }
