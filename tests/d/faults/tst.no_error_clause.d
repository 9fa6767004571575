/*
 * Without an ERROR clause, the message about a fault contains the source line.
 * @stderr
 * @replace: DIF offset \d+ -> DIF offset N
 * @flags: -q
 */
BEGIN
{
	printf("lost\n");
	trace(*(int *)8);
}

BEGIN { exit(0); }
