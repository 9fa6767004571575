/*
 * &&, ||, ! and the logical exclusive or ^^ give 1 or 0.
 * @flags: -q
 */
BEGIN
{
	t = 5;
	f = 0;
	printf("%d%d%d%d\n", t && t, t && f, f && t, f && f);
	printf("%d%d%d%d\n", t || t, t || f, f || t, f || f);
	printf("%d%d%d%d\n", t ^^ t, t ^^ f, f ^^ t, f ^^ f);
	printf("%d%d%d\n", !t, !f, !!t);
	exit(0);
}
