/*
 * Variables that a branch sets keep their values after the branch.
 * @flags: -q
 */
BEGIN
{
	if (1) { this->a = 3; b = 4; self->c = 5; } else { this->a = 0; }
	printf("%d %d %d\n", this->a, b, self->c);
	exit(0);
}
