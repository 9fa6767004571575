/*
 * An inline may be a translation. Its members are evaluated where the inline is used.
 * @flags: -q
 */
struct raw { int a; };
struct nice { int twice; int next; };
translator struct nice < struct raw *r > {
	twice = r->a * 2;
};
translator struct nice < int n > {
	twice = n * 2;
	next = n + 1;
};
struct raw *raw;

inline struct nice *of_raw = xlate <struct nice *> (raw);
inline struct nice *same = of_raw;
inline struct nice seven = xlate <struct nice> (7);
inline struct nice of[int n] = xlate <struct nice> (n);
inline int next_of[int n] = (xlate <struct nice> (n)).next;

BEGIN
{
	raw = (struct raw *)alloca(sizeof (struct raw));
	raw->a = 21;
	printf("%d %d\n", of_raw->twice, same->twice);
	printf("%d %d %d %d\n", seven.twice, of[3].next, of[3 + 1].twice, next_of[8]);
	copy = seven;
	printf("%d %d\n", copy.twice, (*of_raw).twice);
	exit(0);
}
