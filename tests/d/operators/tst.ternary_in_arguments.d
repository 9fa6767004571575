/*
 * Conditional expressions may be used in arguments, keys and predicates.
 * @flags: -q
 */
int n;
BEGIN / n ? 0 : 1 /
{
	a[n ? "yes" : "no"] = 5;
	@[n == 0 ? "zero" : "other"] = count();
	printf("%d %s\n", a["no"], strjoin(n ? "a" : "b", n ? "c" : "d"));
	printa("%s %@d\n", @);
	exit(0);
}
