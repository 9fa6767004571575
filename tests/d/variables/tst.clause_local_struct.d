/*
 * A clause-local variable may be a struct or an array.
 * @flags: -q
 */
struct pair { int a; int b; };
this struct pair p;
this int arr[3];

BEGIN
{
	this->p.b = 2;
	this->arr[2] = 3;
	printf("%d %d %d\n", this->p.a, this->p.b, this->arr[2]);
	exit(0);
}
