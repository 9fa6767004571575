/*
 * With format=json, each record is an object on its own line, and values keep their types.
 * @flags: -x format=json
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
enum colour { red, green = 7 };
struct point {
	int x;
	short pair[2];
	char tag[4];
	struct { unsigned inner; };
	unsigned bits : 3;
	void *where;
	enum colour c;
};
struct point p;

BEGIN
{
	p.x = -4;
	p.pair[1] = 3;
	p.inner = 9;
	p.bits = 5;
	p.where = (void *)0x10;
	p.c = 7;
	trace(-1);
	trace((uint64_t)-1);
	trace("a \"quoted\" line\n");
	print(p);
	printf("%d %s\n", 3, "x");
	trace((char)65);
}

BEGIN { }

BEGIN { exit(0); }
