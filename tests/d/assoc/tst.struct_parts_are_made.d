/*
 * The first store to any part of an object in
 * a dynamic variable creates the object. A
 * key with a side effect is evaluated once.
 * @flags: -q
 */
struct whole {
	int x[4];
	struct { char c; short d:5; } y;
	union { uint64_t all; uint8_t byte[8]; };
};
struct whole n[int];
int grid[int, string][3];
self struct whole t;
self int row[5];
BEGIN
{
	k = 3;
	n[1].x[k] = 8;
	n[1].y.d = 5;
	n[2].y.c = 'q';
	n[3].byte[1] = 2;
	j = 10;
	n[j++].x[1] = 4;
	n[j++].x[1]++;
	grid[4, "a"][1] = 3;
	grid[4, "b"][k - 1] += 6;
	self->t.y.c = 'z';
	self->row[2] = 9;
}
BEGIN
{
	printf("%d %d %c %d\n", n[1].x[3], n[1].y.d, n[2].y.c, n[3].all);
	printf("%d %d %d\n", j, n[10].x[1], n[11].x[1]);
	printf("%d %d %d\n", grid[4, "a"][1], grid[4, "b"][2], grid[4, "b"][1]);
	printf("%c %d %d\n", self->t.y.c, self->row[2], self->row[1]);
	exit(0);
}
