/*
 * A constant index into a string in a struct must be within strsize bytes.
 */
struct named {
	int id;
	string name;
};
struct named *n;

BEGIN
{
	trace(n->name[256]);
	exit(0);
}
