/*
 * Without an ERROR clause, a fault is reported with the line of the program that caused it.
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
