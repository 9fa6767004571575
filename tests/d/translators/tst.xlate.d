/*
 * xlate reads the members that a translator defines.
 * @flags: -q
 */
struct raw { int a; int b; };
struct nice { int sum; char first; };
translator struct nice < struct raw *r > {
	sum = r->a + r->b;
	first = 'n';
};

BEGIN
{
	this->r = (struct raw *)alloca(sizeof (struct raw));
	this->r->a = 3;
	this->r->b = 4;
	printf("%d %c\n", xlate <struct nice> (this->r).sum,
	    xlate <struct nice *> (this->r)->first);
	exit(0);
}
