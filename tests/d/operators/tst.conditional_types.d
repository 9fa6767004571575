/*
 * The arms of a conditional may be strings, pointers or numbers of different sizes.
 * @flags: -q
 */
BEGIN
{
	t = 1;
	printf("%s %s\n", t ? "yes" : "no", !t ? "yes" : "no");
	printf("%d %d\n", t ? (char)-1 : 300, sizeof (t ? (char)1 : 2LL));
	printf("%d\n", (uintptr_t)(t ? NULL : (int *)8));
	exit(0);
}
