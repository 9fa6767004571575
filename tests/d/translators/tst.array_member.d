/*
 * A translator's expressions may index arrays and call subroutines.
 * @flags: -q
 */
struct raw { char name[8]; int v[2]; };
struct nice { string upper; int second; };
translator struct nice < struct raw *r > {
	upper = toupper(stringof(r->name));
	second = r->v[1];
};
BEGIN
{
	this->r = (struct raw *)alloca(sizeof (struct raw));
	this->r->name[0] = 'h';
	this->r->name[1] = 'i';
	this->r->v[1] = 12;
	printf("%s %d\n", xlate <struct nice *> (this->r)->upper,
	    xlate <struct nice *> (this->r)->second);
	exit(0);
}
