/*
 * A string that was never set is empty. A string that is NULL is less than all other strings.
 * @flags: -q
 */
string s;
string t;

BEGIN
{
	t = NULL;
	printf("[%s] %d\n", s, s == "");
	printf("%d %d %d\n", t == NULL, t < "a", t == "a");
	exit(0);
}
