/*
 * -D defines macros, -U undefines them, and #ifdef tests them.
 * @flags: -qC -D DEBUG -D LEVEL=3 -D GONE=1 -U GONE
 */
BEGIN
{
#ifdef DEBUG
	printf("debug %d level %d\n", DEBUG, LEVEL);
#endif
#ifdef GONE
	printf("not gone\n");
#endif
	exit(0);
}
