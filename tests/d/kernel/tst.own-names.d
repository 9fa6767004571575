/*
 * Variables may have the names of kernel typedefs. A program's struct takes precedence
 * over the kernel's.
 */
#pragma D option quiet

struct node *first;
struct node { int number; struct node *next; };

BEGIN
{
	code = 3;
	config = 4;
	Node = 5;
	printf("%d %d %d\n", code, (config), code * config);
	@[code] = sum(Node);
	printa("%d %@d\n", @);
	printf("%d\n", sizeof(*first));
	exit(0);
}
