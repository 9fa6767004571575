/*
 * A clause-local variable is shared by the clauses of one firing.
 * @flags: -q
 */
BEGIN { this->a = 5; this->s = "text"; }
BEGIN { printf("%d %s\n", this->a, this->s); exit(0); }
