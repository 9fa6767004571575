/*
 * A fault in an early part suppresses the later parts.
 * @flags: -q
 */
BEGIN
{
	x = *(int *)0;
	if (1) { printf("never\n"); }
	printf("never\n");
}

BEGIN { printf("next\n"); exit(0); }
