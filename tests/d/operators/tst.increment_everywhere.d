/*
 * ++ works on associative arrays, thread-local variables, members and array elements.
 * @flags: -q
 */
struct s { short a; };
struct s v;
int arr[3];

BEGIN
{
	m["k"]++;
	++m["k"];
	self->t++;
	self->u["x", 1]--;
	this->c++;
	v.a = 32767;
	v.a++;
	arr[1]++;
	printf("%d %d %d %d %d %d\n", m["k"], self->t, self->u["x", 1], this->c, v.a,
	    arr[1]);
	exit(0);
}
