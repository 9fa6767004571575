/*
 * -d shows the program after each if has been split into clauses.
 * @flags: -q -d
 * @replace: (this->%step (?:=|==)) \d+ -> \1 N
 * @replace: \? \d+ : \d+ -> ? N : N
 */
#pragma D option strsize=64
self int depth;
int by[string, int];
inline int twice[int n] = 2 * n;
struct pair {
	int a, b;
};
translator struct pair < int *p > {
	a = 1;
	b = *p + 2;
};
BEGIN,
END
/x == 0 || (pid && !ppid)/
{
	x = 1;
	if (x > 1 + 2 * 3 && by["a\n", 2] != 0) {
		@a[execname, pid] = quantize(x);
	} else if (self->depth) {
		printf("%d \"%s\"\n", (int)x, stringof("b"));
	} else {
		this->y = x ? twice[x] : sizeof (struct pair);
		x++;
		by["c", x] += -x << 3;
		x = (x++, pid);
		this->y = by["d", (x, 7)];
	}
	trace(offsetof(struct pair, b));
}
dtrace:::BEGIN
{
	exit(0);
}
