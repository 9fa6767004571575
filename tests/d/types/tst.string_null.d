/*
 * A string that was never set is empty; one set to NULL is NULL and before every other.
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
