/*
 * A translator for the exact type of the argument is preferred to a translator for void *.
 * @flags: -q
 */
struct raw { int a; };
struct nice { int n; };
translator struct nice < void *p > { n = 1; };
translator struct nice < struct raw *r > { n = 2; };
struct raw *raw;
int *other;
BEGIN
{
	printf("%d %d\n", xlate <struct nice> (raw).n, xlate <struct nice> (other).n);
	exit(0);
}
