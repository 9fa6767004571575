/*
 * A fault before an if suppresses the rest of the clause, including the if.
 * @flags: -q
 */
BEGIN
{
	x = *(int *)0;
	if (1) { printf("never\n"); }
	printf("never\n");
}

BEGIN { printf("next\n"); exit(0); }
