/*
 * A subroutine's result that is stored in a variable remains valid after the clause ends.
 * @flags: -q
 */
BEGIN { s = strjoin("ke", "pt"); self->s = toupper(s); this->s = substr(s, 1); }
BEGIN { printf("%s %s %s\n", s, self->s, this->s); exit(0); }
