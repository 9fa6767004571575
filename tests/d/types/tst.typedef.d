/*
 * typedef gives a type another name.
 * @flags: -q
 */
typedef unsigned short port_number;
typedef struct box { port_number p; } box_t;
box_t b;
port_number q;

BEGIN
{
	b.p = 65537;
	q = -2;
	printf("%d %d %d %d\n", b.p, q, sizeof (box_t), sizeof (port_number));
	exit(0);
}
